//! JSON schema of plans, for editors that complete and check them. What may a plan contain?
//!
//! Types and their documentation come from the types that plans are read into. The quick size, variants and references contain parts of a
//! setting, so the schema requires no key but a plan's title and claim: whether a setting is complete, only [`super::Plan`] tells.

use std::borrow::Cow;

use anabranch_policy::PROFILES;
use anabranch_policy::catalog::{CATALOG, ExtensionPoint};
use anabranch_sim::ProcessorModel;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::axis::AxisPlan;
use super::draw::{DrawPlan, DrawWords};
use super::figure::{Check, Figure, ReferencePlan};
use super::head::{VerdictWords, Words};
use super::mechanisms::Mechanisms;
use super::named::Named;
use super::plot::PlotPlan;
use super::processor::Processor;
use super::quantity::{Buffer, Rate, RateLimit, Share, Size, Time, Whole};
use super::repeat::RepeatPlan;
use super::setting::Setting;

/// The schema, as text with indentation.
///
/// # Panics
///
/// Never: a JSON value with string keys can always be written.
#[must_use]
pub fn plan_schema() -> String {
    let mut generator = SchemaSettings::draft07().into_generator();
    let setting = properties::<Setting>(&mut generator);
    let words = properties::<Words>(&mut generator);
    let variant = extended(
        &setting,
        [(
            "name",
            json!({ "type": "string", "description": "Name of the series." }),
        )],
    );
    let reference = extended(&setting, properties::<ReferencePlan>(&mut generator));
    let mut head = Map::new();
    head.extend(words);
    head.extend([
        (
            "variant".into(),
            tables("A variant of the setting; a series of the figure.", &variant),
        ),
        (
            "sweep".into(),
            json!({
                "description": "Axes of the sweep, by name.",
                "type": "object",
                "additionalProperties": axis(&mut generator),
            }),
        ),
        ("draw".into(), draw(&mut generator)),
        ("figure".into(), generator.subschema_for::<Figure>().to_value()),
        (
            "reference".into(),
            tables("A reference series to compare the variants with.", &reference),
        ),
        ("plot".into(), array(generator.subschema_for::<PlotPlan>())),
        ("check".into(), array(generator.subschema_for::<Check>())),
        (
            "repeat".into(),
            generator.subschema_for::<RepeatPlan>().to_value(),
        ),
        (
            "verdict".into(),
            generator.subschema_for::<VerdictWords>().to_value(),
        ),
    ]);
    let changes = extended(&setting, head.clone());
    let mut definitions = generator.take_definitions(true);
    definitions.insert("Quick".into(), table("What differs in the quick size.", &changes));
    let quick = [("quick".to_owned(), json!({ "$ref": "#/definitions/Quick" }))];
    let mut schema = table("A plan of `anabranch lab`.", &extended(&changes, quick));
    schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    schema["title"] = json!("anabranch plan");
    schema["definitions"] = Value::Object(definitions);
    drop_required(&mut schema);
    schema["required"] = json!(["title", "claim"]);
    serde_json::to_string_pretty(&schema).expect("invariant: string keys only") + "\n"
}

/// The properties of a table that is read into `T`.
fn properties<T: JsonSchema>(generator: &mut SchemaGenerator) -> Map<String, Value> {
    let mut schema = T::json_schema(generator).to_value();
    match schema.get_mut("properties").map(Value::take) {
        Some(Value::Object(properties)) => properties,
        _ => Map::new(),
    }
}

/// `setting` with further properties.
fn extended<K: Into<String>>(
    setting: &Map<String, Value>,
    own: impl IntoIterator<Item = (K, Value)>,
) -> Map<String, Value> {
    let mut all = setting.clone();
    all.extend(own.into_iter().map(|(key, value)| (key.into(), value)));
    all
}

fn table(description: &str, properties: &Map<String, Value>) -> Value {
    json!({
        "description": description,
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    })
}

fn tables(description: &str, properties: &Map<String, Value>) -> Value {
    json!({ "type": "array", "items": table(description, properties) })
}

fn array(items: Schema) -> Value {
    json!({ "type": "array", "items": items })
}

/// An axis with the keys that it sets, which are read apart from its values.
fn axis(generator: &mut SchemaGenerator) -> Value {
    let sets = sets("Keys of the setting that the values are written to, such as `paths.south.rate`.");
    table(
        "An axis of the sweep.",
        &extended(&properties::<AxisPlan>(generator), [("sets", sets)]),
    )
}

fn sets(description: &str) -> Value {
    json!({
        "description": description,
        "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }],
    })
}

/// The draws by name, beside the number of cells and of their paths.
fn draw(generator: &mut SchemaGenerator) -> Value {
    let keys = "Keys of the setting that a drawn value is written to, such as `paths.*.rate`, which draws one for each path.";
    let mut distribution = properties::<DrawPlan>(generator);
    let one = table(
        "A setting that is drawn for each cell.",
        &extended(&distribution, [("sets", sets(keys))]),
    );
    distribution.remove("chance");
    let mut count = table(
        "Number of paths of a cell: the first ones of the plan.",
        &distribution,
    );
    count["type"] = json!(["object", "integer"]);
    let words = extended(&properties::<DrawWords>(generator), [("paths", count)]);
    let mut drawn = table("Drawn cells, which are the axis `cell`.", &words);
    drawn["additionalProperties"] = one;
    drawn
}

/// Removes `required` from all tables.
fn drop_required(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|key, value| !(key == "required" && value.is_array()));
            fields.values_mut().for_each(drop_required);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_required),
        _ => {}
    }
}

/// Schemas of the types that are written as text with a unit.
macro_rules! quantities {
    ($($quantity:ident, $types:tt, $description:literal);+ $(;)?) => {$(
        impl JsonSchema for $quantity {
            fn schema_name() -> Cow<'static, str> {
                stringify!($quantity).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": $types, "description": $description })
            }
        }
    )+};
}

quantities! {
    Rate, "string", "A rate above zero, such as \"10Mbit\" or \"1.5Gbit\".";
    RateLimit, "string", "A rate above zero, such as \"10Mbit\", or \"unlimited\".";
    Time, "string", "A time, such as \"300s\", \"10ms\" or \"0s\".";
    Size, ["string", "number"], "A size above zero, such as \"64KiB\", \"2MB\" or 1452.";
    Buffer, ["string", "number"], "A size above zero, such as \"64KiB\", or \"auto\".";
    Share, ["string", "number"], "A share, such as \"0.25%\" or 0.0025.";
    Whole, ["string", "integer"], "A whole number.";
}

impl<T: JsonSchema> JsonSchema for Named<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}ByName", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "additionalProperties": generator.subschema_for::<T>() })
    }
}

impl JsonSchema for Processor {
    fn schema_name() -> Cow<'static, str> {
        "Processor".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = ProcessorModel::NAMED.iter().map(|(name, _)| *name).collect();
        json_schema!({ "enum": names })
    }
}

/// The profile, each policy with its algorithms, and the parameters of all algorithms.
impl JsonSchema for Mechanisms {
    fn schema_name() -> Cow<'static, str> {
        "Policies".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut keys = Map::new();
        let profiles: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
        keys.insert(
            "profile".into(),
            json!({ "enum": profiles, "description": "The profile that the other keys change." }),
        );
        for point in CATALOG {
            keys.insert(
                point.name.into(),
                json!({ "enum": algorithms(point), "description": point.description }),
            );
            for parameter in point.algorithms.iter().flat_map(|algorithm| algorithm.parameters) {
                let key = format!("{}.{}", point.name, parameter.name);
                keys.insert(
                    key,
                    json!({ "type": ["string", "number"], "description": parameter.meaning }),
                );
            }
        }
        json_schema!({ "type": "object", "properties": keys, "additionalProperties": false })
    }
}

fn algorithms(point: &ExtensionPoint) -> Vec<&'static str> {
    point.algorithms.iter().map(|algorithm| algorithm.name).collect()
}

#[cfg(test)]
mod tests {
    use super::plan_schema;

    #[test]
    fn documented_schema_is_current() {
        let documented = include_str!("../../../../docs/plan.schema.json");
        assert!(
            documented == plan_schema(),
            "docs/plan.schema.json is out of date: run `make docs`"
        );
    }
}
