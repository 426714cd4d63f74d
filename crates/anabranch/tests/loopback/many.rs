//! Many associations in one endpoint.

use crate::common::{client, in_time, next, numbered, server};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_associations_of_one_endpoint_echo() {
    in_time(async {
        let server = server(&["127.0.0.1:0", "127.0.0.2:0"]).await;
        let addresses = server.local_addrs();
        let serving = server.clone();
        let accepting = tokio::spawn(async move {
            while let Some(association) = serving.accept().await {
                tokio::spawn(async move {
                    while let Ok(Some(message)) = association.recv().await {
                        association
                            .stream(message.stream)
                            .send(message.payload)
                            .await
                            .unwrap();
                    }
                });
            }
        });
        let client = client(&["127.0.0.1:0", "127.0.0.2:0"]).await;
        let talks: Vec<_> = (0..100)
            .map(|number| {
                let (client, addresses) = (client.clone(), addresses.clone());
                tokio::spawn(async move {
                    let association = client.connect(&addresses[..]).await.unwrap();
                    for round in 0..20 {
                        let message = numbered(number * 1_000 + round, 1_200);
                        association.send(message.clone()).await.unwrap();
                        assert_eq!(next(&association).await.payload, message.payload);
                    }
                    association.shutdown().await.unwrap();
                })
            })
            .collect();
        for talk in talks {
            talk.await.unwrap();
        }
        client.close().await;
        server.close().await;
        accepting.await.unwrap();
    })
    .await;
}
