//! Headless Chromium for tests, as root without its sandbox, and its DevTools protocol over a pipe.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// The shell gives Chromium its descriptors 3 and 4, which are those of the pipe.
const WITH_PIPE: &str = "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null";

/// Headless Chromium. Without it the test is skipped and says so; in CI, nothing is left out.
pub(crate) fn chromium() -> Option<&'static str> {
    let answers = |program: &&str| {
        let mut command = Command::new(program);
        let status = command
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        status.is_ok_and(|status| status.success())
    };
    let found = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(answers);
    if found.is_none() {
        assert!(
            std::env::var_os("CI").is_none(),
            "this test needs Chromium: make setup"
        );
        eprintln!("skipped: pages are drawn by Chromium, which is not here (make setup)");
    }
    found
}

/// A page in a browser of its own.
#[derive(Debug)]
pub(crate) struct Page {
    child: Child,
    commands: ChildStdin,
    messages: BufReader<ChildStdout>,
    last: u64,
    session: Option<String>,
    /// Addresses that the page has asked for.
    pub(crate) requests: Vec<String>,
    /// What the page has done wrong: exceptions, and what its policy forbids.
    pub(crate) errors: Vec<String>,
    _home: TempDir,
}

impl Page {
    /// Opens a page.
    pub(crate) fn open(chromium: &str, url: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut child = Command::new("sh")
            .args([
                "-c",
                WITH_PIPE,
                chromium,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
            ])
            .args([
                "--disable-dev-shm-usage",
                "--hide-scrollbars",
                "--remote-debugging-pipe",
            ])
            .arg(format!("--user-data-dir={}", home.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut page = Self {
            commands: child.stdin.take().unwrap(),
            messages: BufReader::new(child.stdout.take().unwrap()),
            child,
            last: 0,
            session: None,
            requests: Vec::new(),
            errors: Vec::new(),
            _home: home,
        };
        let target = page.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = page.call("Target.attachToTarget", &attach);
        page.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            page.call(&format!("{domain}.enable"), &json!({}));
        }
        page.call("Page.navigate", &json!({ "url": url }));
        page
    }

    /// Sends a command of the DevTools protocol, and returns its result.
    pub(crate) fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.last += 1;
        let mut command = json!({ "id": self.last, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            command["sessionId"] = session.as_str().into();
        }
        self.commands.write_all(command.to_string().as_bytes()).unwrap();
        self.commands.write_all(&[0]).unwrap();
        loop {
            let mut bytes = Vec::new();
            self.messages.read_until(0, &mut bytes).unwrap();
            assert_eq!(bytes.pop(), Some(0), "Chromium has ended");
            let message: Value = serde_json::from_slice(&bytes).unwrap();
            if message["id"] == self.last {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].clone();
            }
            self.on_event(&message);
        }
    }

    fn on_event(&mut self, message: &Value) {
        let parameters = &message["params"];
        match message["method"].as_str() {
            Some("Network.requestWillBeSent") => {
                let url = parameters["request"]["url"].as_str().unwrap();
                self.requests.push(url.to_owned());
            }
            Some("Runtime.exceptionThrown" | "Log.entryAdded") => self.errors.push(parameters.to_string()),
            _ => {}
        }
    }

    /// The value of an expression of JavaScript in the page, as soon as it is true.
    pub(crate) fn wait_for(&mut self, expression: &str) -> Value {
        let promise = format!(
            "new Promise((found, missing) => {{
                const until = Date.now() + 60000;
                const look = () => {{
                    let value;
                    try {{ value = {expression}; }} catch {{ }}
                    if (value) found(value);
                    else if (Date.now() > until) missing(new Error('not within a minute'));
                    else setTimeout(look, 10);
                }};
                look();
            }})"
        );
        let call = json!({ "expression": promise, "awaitPromise": true, "returnByValue": true });
        let answer = self.call("Runtime.evaluate", &call);
        assert!(
            answer.get("exceptionDetails").is_none(),
            "{expression}: {answer}, {:?}",
            self.errors
        );
        answer["result"]["value"].clone()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
