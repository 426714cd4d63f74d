//! Formulas of references: arithmetic over the coordinates of a point, such as `(10 + south) * 1452 / 1526`.

use std::iter::Peekable;
use std::vec::IntoIter;

/// Arithmetic with `+`, `-`, `*`, `/`, parentheses, `min(a, b)`, `max(a, b)`, numbers and the names of axes.
#[derive(Clone, PartialEq, Debug)]
pub struct Formula {
    text: String,
    term: Term,
}

#[derive(Clone, PartialEq, Debug)]
enum Term {
    Number(f64),
    Name(String),
    Binary(Operator, Box<Self>, Box<Self>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operator {
    Plus,
    Minus,
    Times,
    Over,
    Min,
    Max,
}

#[derive(Clone, PartialEq, Debug)]
enum Token {
    Number(f64),
    Name(String),
    Sign(char),
}

/// Maximum number of tokens; evaluation is recursive.
const MAX_TOKENS: usize = 1_000;

/// Maximum nesting depth of parentheses.
const MAX_DEPTH: usize = 50;

impl Formula {
    /// Reads a formula.
    ///
    /// # Errors
    ///
    /// A message that says what was expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let tokens = tokens(text)?;
        if tokens.len() > MAX_TOKENS {
            return Err(format!(
                "expected at most {MAX_TOKENS} numbers, names and operators"
            ));
        }
        let mut parser = Parser {
            tokens: tokens.into_iter().peekable(),
            depth: 0,
        };
        let term = parser.sum()?;
        match parser.tokens.next() {
            None => Ok(Self {
                text: text.to_owned(),
                term,
            }),
            Some(token) => Err(format!("expected an operator, found {}", token.shown())),
        }
    }

    /// The text that it was read from.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names in it.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.term.collect_names(&mut names);
        names
    }

    /// Its value, with names replaced by `value_of`; `None` if a name has no value, or if the result is not finite.
    pub fn value(&self, value_of: impl Fn(&str) -> Option<f64>) -> Option<f64> {
        self.term.value(&value_of).filter(|value| value.is_finite())
    }
}

impl Term {
    fn value(&self, value_of: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
        Some(match self {
            Self::Number(number) => *number,
            Self::Name(name) => value_of(name)?,
            Self::Binary(operator, left, right) => {
                let (left, right) = (left.value(value_of)?, right.value(value_of)?);
                match operator {
                    Operator::Plus => left + right,
                    Operator::Minus => left - right,
                    Operator::Times => left * right,
                    Operator::Over => left / right,
                    Operator::Min => left.min(right),
                    Operator::Max => left.max(right),
                }
            }
        })
    }

    fn collect_names<'t>(&'t self, names: &mut Vec<&'t str>) {
        match self {
            Self::Number(_) => {}
            Self::Name(name) => names.push(name),
            Self::Binary(_, left, right) => {
                left.collect_names(names);
                right.collect_names(names);
            }
        }
    }
}

impl Token {
    fn shown(&self) -> String {
        match self {
            Self::Number(number) => format!("`{number}`"),
            Self::Name(name) => format!("`{name}`"),
            Self::Sign(sign) => format!("`{sign}`"),
        }
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let end_of = |in_word: fn(char) -> bool| rest.find(|letter| !in_word(letter)).unwrap_or(rest.len());
        let (token, end) = if first.is_ascii_digit() {
            let end = end_of(|letter| letter.is_ascii_digit() || letter == '.');
            let number = rest[..end].parse();
            let number = number.map_err(|_| format!("expected a number, found `{}`", &rest[..end]))?;
            (Token::Number(number), end)
        } else if first.is_ascii_alphabetic() {
            let end = end_of(|letter| letter.is_ascii_alphanumeric() || letter == '_');
            (Token::Name(rest[..end].to_owned()), end)
        } else if "+-*/(),".contains(first) {
            (Token::Sign(first), 1)
        } else {
            return Err(format!("expected arithmetic, found `{first}`"));
        };
        tokens.push(token);
        rest = rest[end..].trim_start();
    }
    Ok(tokens)
}

struct Parser {
    tokens: Peekable<IntoIter<Token>>,
    depth: usize,
}

impl Parser {
    fn sum(&mut self) -> Result<Term, String> {
        self.chain(&[('+', Operator::Plus), ('-', Operator::Minus)], Self::product)
    }

    fn product(&mut self) -> Result<Term, String> {
        self.chain(&[('*', Operator::Times), ('/', Operator::Over)], Self::factor)
    }

    /// Operands with left-associative operators of one precedence.
    fn chain(
        &mut self,
        operators: &[(char, Operator)],
        operand: fn(&mut Self) -> Result<Term, String>,
    ) -> Result<Term, String> {
        let mut left = operand(self)?;
        while let Some(Token::Sign(sign)) = self.tokens.peek() {
            let Some((_, operator)) = operators.iter().find(|(known, _)| known == sign) else {
                break;
            };
            self.tokens.next();
            left = Term::Binary(*operator, Box::new(left), Box::new(operand(self)?));
        }
        Ok(left)
    }

    fn factor(&mut self) -> Result<Term, String> {
        match self.tokens.next() {
            Some(Token::Number(number)) => Ok(Term::Number(number)),
            Some(Token::Name(name)) => match (name.as_str(), self.tokens.peek()) {
                ("min", Some(Token::Sign('('))) => self.pair(Operator::Min),
                ("max", Some(Token::Sign('('))) => self.pair(Operator::Max),
                _ => Ok(Term::Name(name)),
            },
            Some(Token::Sign('(')) => {
                self.deeper()?;
                let inner = self.sum()?;
                self.expect(')')?;
                Ok(inner)
            }
            Some(token) => Err(format!(
                "expected a number or the name of an axis, found {}",
                token.shown()
            )),
            None => Err("expected a number or the name of an axis, found the end".into()),
        }
    }

    fn pair(&mut self, operator: Operator) -> Result<Term, String> {
        self.deeper()?;
        self.expect('(')?;
        let left = self.sum()?;
        self.expect(',')?;
        let right = self.sum()?;
        self.expect(')')?;
        Ok(Term::Binary(operator, Box::new(left), Box::new(right)))
    }

    fn expect(&mut self, sign: char) -> Result<(), String> {
        match self.tokens.next() {
            Some(Token::Sign(found)) if found == sign => Ok(()),
            Some(token) => Err(format!("expected `{sign}`, found {}", token.shown())),
            None => Err(format!("expected `{sign}`, found the end")),
        }
    }

    fn deeper(&mut self) -> Result<(), String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("too many parentheses".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Formula;

    fn value(text: &str) -> Result<f64, String> {
        let formula = Formula::parse(text)?;
        let value = formula.value(|name| (name == "south").then_some(100.0));
        value.ok_or_else(|| "unknown".into())
    }

    #[test]
    fn formula_follows_operator_precedence() {
        assert_eq!(value("1 + 2 * 3 - 4 / 2"), Ok(5.0));
        assert_eq!(value("(10 + south) / 2"), Ok(55.0));
        assert_eq!(value("max(10, south) - min(10, south)"), Ok(90.0));
        assert_eq!(value("north"), Err("unknown".into()));
        assert_eq!(value("10 / (south - 100)"), Err("unknown".into()));
    }

    #[test]
    fn invalid_formula_is_refused() {
        assert_eq!(
            value("1 +"),
            Err("expected a number or the name of an axis, found the end".into())
        );
        assert_eq!(value("1 2"), Err("expected an operator, found `2`".into()));
        assert!(value("south & 1").is_err());
        assert!(value(&"(".repeat(1_000)).is_err());
        let long = value(&"1 + ".repeat(100_000)).unwrap_err();
        assert!(long.contains("at most 1000"), "{long}");
    }
}
