//! The stage.

use std::ffi::CString;

use flowpipe_plugin::{
    Carried, Context, Effect, EffectKind, Error, Host, Input, Next, Port, Result, Stage, tracing,
};

use crate::authorities;
use crate::client::{Client, Settings};
use crate::config::Config;
use crate::error::RequestError;
use crate::request::RequestBuilder;
use crate::response;

/// The stage.
pub struct HttpRequest {
    config: Config,
    schema: CString,
    requests: RequestBuilder,
    host: Host,
    /// `None`: not active, or a dry run.
    client: Option<Client>,
}

impl Stage for HttpRequest {
    const NAME: &'static str = "http-request";
    const DOC: &'static str = "Sends an HTTP request for each message, and sends on the response as a message: `status`, \
         `url`, `headers`, and the content as `json`, `text` or `base64`. Statuses such as 404 are responses too. What \
         gives no whole response is a failure. In a dry run, and in a replay, no request is sent.";
    const EFFECTS: Option<&'static [Effect]> = Some(&[
        Effect::new(EffectKind::UsesNetwork, "sends requests to {servers}").with_key("servers"),
        Effect::new(
            EffectKind::UsesNetwork,
            "sends values of environment variables as header fields: {headers_from_env}",
        )
        .with_key("headers_from_env"),
        Effect::new(
            EffectKind::ReadsFiles,
            "reads the certificates of authorities in {ca_file}",
        )
        .with_key("ca_file"),
    ]);
    type Config = Config;

    fn inputs() -> Vec<Port> {
        vec![Port::new("in", "*").carrying(Carried::ANYTHING)]
    }

    fn outputs() -> Vec<Port> {
        vec![
            Port::new("out", "*")
                .carrying([Carried::Nothing])
                .with_schema_key("schema"),
        ]
    }

    fn new(config: Config, host: &Host) -> Result<Self> {
        Ok(Self {
            requests: RequestBuilder::new(&config)?,
            schema: CString::new(config.schema.as_str())?,
            config,
            host: *host,
            client: None,
        })
    }

    fn activate(&mut self) -> Result<()> {
        if self.host.is_dry() {
            tracing::info!("a dry run: no requests are sent");
            return Ok(());
        }
        let tls = self.requests.needs_certificates();
        let tls = tls.then(|| authorities::tls(self.config.ca_file.as_deref()));
        self.client = Some(Client::new(Settings {
            timeout_ms: self.config.timeout_ms,
            max_response: self.config.max_response,
            max_redirects: self.config.max_redirects,
            allow_private: self.config.allow_private,
            tls: tls.transpose()?,
        }));
        Ok(())
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        let Input::Message(message) = input else {
            return Ok(Next::More);
        };
        let cancel = context.cancel();
        let Some(request) = self.requests.request(message.json(), cancel)? else {
            return Ok(Next::More);
        };
        let Some(client) = &mut self.client else {
            return Ok(Next::More);
        };
        let to = format!("{} {}", request.method, request.uri);
        let response = client.send(request, cancel).map_err(|error| match error {
            RequestError::Cancelled => Error::cancelled(),
            error => Error::from(error).context(to),
        })?;
        let answered = self.config.include_message.then(|| message.json());
        let body = response::body(&response, answered)?;
        context.emit_document(0, &self.schema, &body, None, 0)?;
        Ok(Next::More)
    }

    fn deactivate(&mut self) {
        if let Some(mut client) = self.client.take() {
            client.interrupt();
        }
    }
}
