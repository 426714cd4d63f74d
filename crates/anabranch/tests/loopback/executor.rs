//! Handles on an executor that is not tokio's.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use anabranch::{Endpoint, StreamLimits};

use crate::common::text;

/// Wakes a thread that runs one future.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future on this thread, without timers, sockets and tasks.
fn block_on<T>(work: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let (mut work, mut context) = (pin!(work), Context::from_waker(&waker));
    loop {
        match work.as_mut().poll(&mut context) {
            Poll::Ready(result) => return result,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn handles_work_on_any_executor() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let builder = || {
        let builder = Endpoint::builder().insecure().local("127.0.0.1:0");
        builder.streams(StreamLimits::default())
    };
    let server = runtime.block_on(builder().listen().bind()).unwrap();
    let client = runtime.block_on(builder().bind()).unwrap();
    let port = server.local_addrs()[0].port();
    let serving = thread::spawn(move || {
        block_on(async {
            let association = server.accept().await.unwrap();
            let (mut sender, mut receiver) = association.accept_stream().await.unwrap();
            let asked = receiver.recv().await.unwrap().unwrap();
            sender.send(asked.payload).await.unwrap();
            sender.finish();
            association.closed().await;
            server.close().await;
        });
    });
    block_on(async {
        // A name is resolved on a thread of the runtime.
        let association = client.connect(format!("127.0.0.1:{port}")).await.unwrap();
        let mut watch = association.statistics_every(Duration::from_millis(1));
        assert!(watch.next().await.is_some());
        client.add_local("127.0.0.2:0".parse().unwrap()).unwrap();
        let (mut sender, mut receiver) = association.open_stream().await.unwrap();
        sender.send(text("echo").payload).await.unwrap();
        sender.finish();
        assert_eq!(receiver.recv().await.unwrap().unwrap().payload, "echo");
        association.shutdown().await.unwrap();
        client.close().await;
    });
    serving.join().unwrap();
}
