//! The features `serde` and `tracing`: `cargo test --package anabranch --features serde,tracing --test features`.
#![cfg(test)]

#[cfg(feature = "serde")]
#[test]
fn settings_are_read_from_toml_and_unknown_keys_refused() {
    let settings: anabranch::Settings = toml::from_str(
        "local = ['127.0.0.1:0']\ninsecure = true\nidle-timeout-ms = 5000\n\
         policies = { stream-scheduler = 'wfq' }\nstreams = { streams = 64 }",
    )
    .unwrap();
    assert_eq!(settings.idle_timeout_ms, Some(5_000));
    assert_eq!(settings.streams.map(|limits| limits.streams), Some(64));
    assert!(settings.builder().is_ok());
    assert!(toml::from_str::<anabranch::Settings>("idle-timeout = 5").is_err());
}

#[cfg(feature = "tracing")]
mod traced {
    use std::fmt;
    use std::sync::{Arc, Mutex};

    use anabranch::Endpoint;
    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

    /// Collects the names of spans and the messages of events.
    #[derive(Clone, Default)]
    struct Collector(Arc<Mutex<Vec<String>>>);

    struct Message<'a>(&'a mut Vec<String>);

    impl Visit for Message<'_> {
        fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
            if field.name() == "message" {
                self.0.push(format!("{value:?}"));
            }
        }
    }

    impl Subscriber for Collector {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.target().starts_with("anabranch")
        }

        fn new_span(&self, span: &Attributes<'_>) -> Id {
            self.0.lock().unwrap().push(span.metadata().name().to_owned());
            Id::from_u64(1)
        }

        fn record(&self, _span: &Id, _values: &Record<'_>) {}

        fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

        fn event(&self, event: &Event<'_>) {
            event.record(&mut Message(&mut self.0.lock().unwrap()));
        }

        fn enter(&self, _span: &Id) {}

        fn exit(&self, _span: &Id) {}
    }

    #[test]
    fn life_of_an_association_is_traced() {
        let collector = Collector::default();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        tracing::subscriber::with_default(collector.clone(), || {
            runtime.block_on(async {
                let builder = || Endpoint::builder().insecure().local("127.0.0.1:0");
                let server = builder().listen().bind().await.unwrap();
                let client = builder().bind().await.unwrap();
                let addresses = server.local_addrs();
                let (ours, theirs) = tokio::join!(client.connect(&addresses[..]), server.accept());
                ours.unwrap().shutdown().await.unwrap();
                theirs.unwrap().closed().await;
            });
        });
        let seen = collector.0.lock().unwrap();
        for (name, count) in [("endpoint", 2), ("connect", 1), ("connected", 2), ("closed", 2)] {
            assert_eq!(
                seen.iter().filter(|seen| *seen == name).count(),
                count,
                "{name}: {seen:?}"
            );
        }
    }
}
