//! What a service says about its own model fills what the catalogue does not know.

use crate::fixture::{Answer, Service, hasty, keys};
use scrubjay_providers::{Catalogue, Choice, Provider, connect_consulting};

async fn window(service: &Service, model: &str, own: Option<u64>) -> (u64, u64) {
    let choice = Choice {
        model: model.into(),
        provider: Some(Provider::Anthropic),
        base_url: Some(format!("{}/v1/", service.url())),
        window: own,
        ..Choice::default()
    };
    let catalogue = Catalogue::built_in().unwrap();
    let model = connect_consulting(&choice, &keys(), &catalogue, &hasty(1)).await.unwrap();
    (model.window().size, model.window().max_output)
}

// spec: H8
#[tokio::test]
async fn a_service_is_asked_and_its_silence_is_no_error() {
    let facts = || Answer::status(200, r#"{"id":"claude-next","max_input_tokens":500000,"max_tokens":9000}"#);
    let service = Service::start([facts()]).await;
    assert_eq!(window(&service, "claude-next", None).await, (500_000, 9_000));
    assert_eq!(service.seen()[0].path, "/v1/models/claude-next");

    service.then(facts());
    assert_eq!(window(&service, "claude-next", Some(7_000)).await.0, 7_000, "a person's own number stays");

    let list = r#"{"object":"list","data":[{"id":"other","meta":{"n_ctx_train":8192}}]}"#;
    service.then(Answer::status(404, ""));
    service.then(Answer::status(200, list));
    assert_eq!(window(&service, "smol", None).await.0, 8_192, "a local server has one model");

    for nonsense in [Answer::status(500, ""), Answer::status(200, "<html>"), Answer::status(200, "[]")] {
        let service = Service::start([nonsense]).await;
        assert_eq!(window(&service, "claude-next", None).await, (200_000, 32_000));
    }
    let asked = service.seen().len();
    assert_eq!(window(&service, "claude-opus-5-5", None).await, (1_000_000, 128_000));
    assert_eq!(service.seen().len(), asked, "what is known is not asked for");
}
