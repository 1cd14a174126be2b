//! Where a response leads.

use ureq::http::{Method, StatusCode, Uri};

/// The URL that a response at `from` leads to. `None`: it leads nowhere, or `location` is no URL.
pub fn target(from: &Uri, status: StatusCode, location: Option<&str>) -> Option<String> {
    if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = location?;
    let scheme = from.scheme_str()?;
    let authority = from.authority()?;
    let has_scheme = location
        .split(['/', '?', '#'])
        .next()
        .is_some_and(|first| first.contains(':'));
    Some(if has_scheme {
        location.to_owned()
    } else if location.starts_with("//") {
        format!("{scheme}:{location}")
    } else if location.starts_with('/') {
        format!("{scheme}://{authority}{location}")
    } else {
        let path = match location.chars().next() {
            Some('?' | '#') | None => from.path(),
            _ => from
                .path()
                .rsplit_once('/')
                .map_or("", |(folder, _)| folder),
        };
        let separator = match location.chars().next() {
            Some('?' | '#') | None => "",
            _ => "/",
        };
        format!("{scheme}://{authority}{path}{separator}{location}")
    })
}

/// The method of the next request.
pub fn method(method: &Method, status: StatusCode) -> Method {
    match status.as_u16() {
        303 if *method != Method::HEAD => Method::GET,
        301 | 302 if *method == Method::POST => Method::GET,
        _ => method.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_is_relative_to_its_url() {
        let from: Uri = "http://a.org:81/b/c?d".parse().unwrap();
        let found = StatusCode::FOUND;
        for (location, url) in [
            ("https://e.org/f", "https://e.org/f"),
            ("//e.org/f", "http://e.org/f"),
            ("/f?g", "http://a.org:81/f?g"),
            ("f", "http://a.org:81/b/f"),
            ("./f:g", "http://a.org:81/b/./f:g"),
            ("?g", "http://a.org:81/b/c?g"),
            ("", "http://a.org:81/b/c"),
            ("javascript:1", "javascript:1"),
        ] {
            let target = target(&from, found, Some(location));
            assert_eq!(target.as_deref(), Some(url), "{location}");
        }
        assert_eq!(target(&from, StatusCode::OK, Some("/f")), None);
        assert_eq!(target(&from, StatusCode::NOT_MODIFIED, Some("/f")), None);
        assert_eq!(target(&from, found, None), None);
    }

    #[test]
    fn content_is_sent_again_only_where_the_method_stays() {
        for (status, from, to) in [
            (301, Method::POST, Method::GET),
            (302, Method::PUT, Method::PUT),
            (303, Method::PUT, Method::GET),
            (303, Method::HEAD, Method::HEAD),
            (307, Method::POST, Method::POST),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(method(&from, status), to, "{status} {from}");
        }
    }
}
