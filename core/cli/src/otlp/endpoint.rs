//! Where the collector is, and what is sent with each request.

use percent_encoding::percent_decode_str;
use ureq::http::{HeaderName, HeaderValue, Uri};

/// The value of `--otlp` for the variables of OpenTelemetry. Without it, none is read.
const ENV: &str = "env";
/// The name of the service, unless a variable has another one.
const SERVICE_NAME: &str = "flowpipe";
/// The most names with values of a variable.
const MOST_ATTRIBUTES: usize = 128;

/// A collector.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// As it is printed.
    pub shown: String,
    /// Where traces are sent to.
    pub traces: Uri,
    /// Where metrics are sent to.
    pub metrics: Uri,
    /// What is sent with each request.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The name of the service.
    pub service: String,
    /// Further attributes of the resource.
    pub attributes: Vec<(String, String)>,
}

/// Why a collector can't be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// It is no URL that is known.
    #[error(
        "expected the URL of a collector that takes OTLP over HTTP, such as http://127.0.0.1:4318, or env"
    )]
    Url,
    /// It is to be reached by TLS.
    #[error(
        "https is not supported: send to an OpenTelemetry Collector on this computer or network, such as \
         http://127.0.0.1:4318, which sends further by TLS"
    )]
    Tls,
    /// The variable with the URL is not set.
    #[error("set OTEL_EXPORTER_OTLP_ENDPOINT, such as http://127.0.0.1:4318")]
    NotSet,
    /// The variable with the URL can't be used.
    #[error("OTEL_EXPORTER_OTLP_ENDPOINT: {0}")]
    Variable(Box<EndpointError>),
    /// Another protocol.
    #[error(
        "OTEL_EXPORTER_OTLP_PROTOCOL is {0}, and flowpipe sends http/protobuf alone: collectors take it at port 4318"
    )]
    Protocol(String),
    /// A list of names with values.
    #[error(
        "{0}: expected NAME=VALUE, separated by commas, in which other characters are percent-encoded"
    )]
    List(&'static str),
}

impl Endpoint {
    /// Reads the value of the option. `variable`: those of the environment.
    ///
    /// # Errors
    /// When it can't be used.
    pub fn read(
        to: &str,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, EndpointError> {
        if to != ENV {
            return Self::of_url(to);
        }
        // A variable that is empty counts as not set, as the specification says.
        let variable = |name: &str| variable(name).filter(|text| !text.trim().is_empty());
        let url = variable("OTEL_EXPORTER_OTLP_ENDPOINT").ok_or(EndpointError::NotSet)?;
        let mut endpoint =
            Self::of_url(&url).map_err(|error| EndpointError::Variable(Box::new(error)))?;
        if let Some(protocol) = variable("OTEL_EXPORTER_OTLP_PROTOCOL")
            && protocol.trim() != "http/protobuf"
        {
            return Err(EndpointError::Protocol(protocol.trim().to_owned()));
        }
        let headers = "OTEL_EXPORTER_OTLP_HEADERS";
        for (name, value) in pairs(headers, variable(headers))? {
            let name = HeaderName::try_from(name).map_err(|_| EndpointError::List(headers))?;
            let mut value =
                HeaderValue::try_from(value).map_err(|_| EndpointError::List(headers))?;
            value.set_sensitive(true);
            endpoint.headers.push((name, value));
        }
        let attributes = "OTEL_RESOURCE_ATTRIBUTES";
        for (name, value) in pairs(attributes, variable(attributes))? {
            match name.as_str() {
                "service.name" => endpoint.service = value,
                _ => endpoint.attributes.push((name, value)),
            }
        }
        if let Some(service) = variable("OTEL_SERVICE_NAME") {
            endpoint.service = service;
        }
        Ok(endpoint)
    }

    fn of_url(url: &str) -> Result<Self, EndpointError> {
        let url = url.trim();
        let base: Uri = url.parse().map_err(|_| EndpointError::Url)?;
        match base.scheme_str() {
            Some("http") => {}
            Some("https") => return Err(EndpointError::Tls),
            _ => return Err(EndpointError::Url),
        }
        let host = base.host().unwrap_or_default();
        let place = match base.port_u16() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        // More is a password, which would be printed and sent to whoever answers, or no port.
        let is_place = base.authority().is_some_and(|it| it.as_str() == place);
        if host.is_empty() || !is_place || url.contains(['?', '#']) {
            return Err(EndpointError::Url);
        }
        let shown = url.trim_end_matches('/').to_owned();
        let of_signal = |path: &str| {
            format!("{shown}{path}")
                .parse()
                .map_err(|_| EndpointError::Url)
        };
        Ok(Self {
            traces: of_signal("/v1/traces")?,
            metrics: of_signal("/v1/metrics")?,
            shown,
            headers: Vec::new(),
            service: SERVICE_NAME.to_owned(),
            attributes: Vec::new(),
        })
    }
}

/// The names and values of a variable.
fn pairs(
    variable: &'static str,
    text: Option<String>,
) -> Result<Vec<(String, String)>, EndpointError> {
    let wrong = || EndpointError::List(variable);
    let text = text.unwrap_or_default();
    let entries = text.split(',').map(str::trim).filter(|it| !it.is_empty());
    let pairs = entries.map(|entry| {
        let (name, value) = entry.split_once('=').ok_or_else(wrong)?;
        let decoded = percent_decode_str(value.trim()).decode_utf8();
        let decoded = decoded.map_err(|_| wrong())?.into_owned();
        match name.trim() {
            "" => Err(wrong()),
            name => Ok((name.to_owned(), decoded)),
        }
    });
    let pairs: Vec<_> = pairs.collect::<Result<_, _>>()?;
    if pairs.len() > MOST_ATTRIBUTES {
        return Err(wrong());
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(to: &str, variables: &[(&str, &str)]) -> Result<Endpoint, EndpointError> {
        Endpoint::read(to, |name| {
            let mut all = variables.iter();
            all.find(|(it, _)| *it == name).map(|it| it.1.to_owned())
        })
    }

    #[test]
    fn the_paths_of_the_signals_follow_the_url() {
        for (url, traces) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
            ("http://[::1]:4318/", "http://[::1]:4318/v1/traces"),
            ("http://collector/base/", "http://collector/base/v1/traces"),
        ] {
            let endpoint = read(url, &[("OTEL_SERVICE_NAME", "other")]).unwrap();
            assert_eq!(endpoint.traces, traces);
            let metrics = traces.replace("traces", "metrics");
            assert_eq!(endpoint.metrics, metrics.as_str());
            assert_eq!(endpoint.service, "flowpipe", "no variable is read");
        }
    }

    #[test]
    fn other_urls_are_refused() {
        for url in [
            "",
            "127.0.0.1:4318",
            "grpc://127.0.0.1:4317",
            "http://",
            "http:///v1",
            "http://ann:secret@collector",
            "http://collector?key=secret",
            "http://collector:99999",
            "http://collector:",
            "http://collector#fragment",
            "ENV",
        ] {
            assert_eq!(read(url, &[]).err(), Some(EndpointError::Url), "{url}");
        }
        let tls = read("https://collector:4318", &[]).err();
        assert_eq!(tls, Some(EndpointError::Tls));
    }

    #[test]
    fn the_variables_are_read_for_env_alone() {
        assert_eq!(read("env", &[]).err(), Some(EndpointError::NotSet));
        let url = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318");
        let endpoint = read(
            "env",
            &[
                url,
                ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
                (
                    "OTEL_EXPORTER_OTLP_HEADERS",
                    "api-key=a%20b, Authorization=Basic x=",
                ),
                (
                    "OTEL_RESOURCE_ATTRIBUTES",
                    "service.name=x,deployment.environment.name=a%2Cb",
                ),
            ],
        )
        .unwrap();
        assert_eq!(endpoint.shown, url.1);
        let headers: Vec<_> = endpoint
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
            .collect();
        let expected = [("api-key", "a b"), ("authorization", "Basic x=")];
        assert_eq!(headers, expected);
        assert!(
            !format!("{endpoint:?}").contains("a b"),
            "headers are secret"
        );
        assert_eq!(endpoint.service, "x");
        let expected = ("deployment.environment.name".to_owned(), "a,b".to_owned());
        assert_eq!(endpoint.attributes, [expected]);
        let named = read("env", &[url, ("OTEL_SERVICE_NAME", "mine")]).unwrap();
        assert_eq!(named.service, "mine");
    }

    #[test]
    fn variables_that_can_not_be_used_are_errors() {
        let url = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318");
        let grpc = read("env", &[url, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]);
        assert_eq!(grpc.err(), Some(EndpointError::Protocol("grpc".to_owned())));
        let many = "a=b,".repeat(1000);
        for (name, value) in [
            ("OTEL_EXPORTER_OTLP_HEADERS", "no value"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a b=c"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a=%0d%0ax: y"),
            ("OTEL_RESOURCE_ATTRIBUTES", "=x"),
            ("OTEL_RESOURCE_ATTRIBUTES", "a=%ff"),
            ("OTEL_RESOURCE_ATTRIBUTES", &many),
        ] {
            let error = read("env", &[url, (name, value)]).err().unwrap();
            assert!(error.to_string().starts_with(name), "{error}");
        }
        let error = read("env", &[("OTEL_EXPORTER_OTLP_ENDPOINT", "collector")]);
        let text = error.err().unwrap().to_string();
        assert!(
            text.starts_with("OTEL_EXPORTER_OTLP_ENDPOINT: expected"),
            "{text}"
        );
    }
}
