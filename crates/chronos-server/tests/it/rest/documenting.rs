//! The document of the API: kept in the repository, told by the server, and complete.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use super::send;
use crate::daemon::house::{House, get};

#[test]
fn the_document_in_the_repository_is_what_the_code_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../openapi.json");
    let written = chronos_server::rest::openapi();
    if std::env::var_os("CHRONOS_WRITE_OPENAPI").is_some() {
        std::fs::write(&path, &written).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == written, "openapi.json is out of date: run `make openapi`");
}

#[tokio::test]
async fn the_server_tells_its_document_and_shows_it_without_other_machines() {
    let house = House::open().await;
    let told = house.get("/openapi.json").await.expect(200);
    assert_eq!(told, serde_json::from_str::<Value>(&chronos_server::rest::openapi()).unwrap());
    assert_eq!(told["openapi"], "3.1.0");
    let (code, page) = get(house.address(), "/docs/").await;
    assert_eq!(code, 200);
    assert!(page.contains("swagger-ui") && !page.contains("://"), "{page}");
    let (code, start) = get(house.address(), "/docs/swagger-initializer.js").await;
    assert_eq!(code, 200);
    assert!(start.contains("/openapi.json"), "{start}");
    house.close().await;
}

/// The fields of a schema, with those of what it is put together from.
fn fields(document: &Value, schema: &Value, found: &mut BTreeSet<String>) {
    if let Some(name) = schema["$ref"].as_str() {
        let schema = document.pointer(name.trim_start_matches('#'));
        fields(document, schema.unwrap_or_else(|| panic!("there is no {name}")), found);
    }
    for part in schema["allOf"].as_array().into_iter().flatten() {
        fields(document, part, found);
    }
    found.extend(
        schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone()),
    );
}

#[tokio::test]
async fn what_is_told_has_the_fields_that_the_document_says() {
    let house = House::open().await;
    let document: Value = serde_json::from_str(&chronos_server::rest::openapi()).unwrap();
    let job = house.make(&super::hourly("a", "succeed")).await;
    let run =
        house.ask("POST", &format!("/jobs/{}/run", super::text(&job["id"]))).await.expect(201);
    // Told only where there is something to tell.
    let job_may = ["payload_base64", "dropped_secrets"];
    let run_may = ["response_body", "response_body_base64"];
    for (name, told, may) in [("Job", &job, job_may), ("Execution", &run, run_may)] {
        let mut documented = BTreeSet::new();
        fields(&document, &document["components"]["schemas"][name], &mut documented);
        let told = told.as_object().unwrap().keys().cloned().chain(may.map(Into::into)).collect();
        assert_eq!(documented, told, "{name}");
    }
    // Two types of one name would be one in the document.
    let mut documented = BTreeSet::new();
    fields(&document, &document["components"]["schemas"]["Counts"], &mut documented);
    let counts = job["counts"].as_object().unwrap();
    assert_eq!(documented, counts.keys().cloned().collect());
    house.close().await;
}

/// What the document says can be asked, such as "GET /jobs/{id}".
fn documented() -> BTreeSet<String> {
    let document: Value = serde_json::from_str(&chronos_server::rest::openapi()).unwrap();
    let mut asked = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            asked.insert(format!("{} {path}", method.to_uppercase()));
        }
    }
    asked
}

#[test]
fn every_operation_has_a_name_of_its_own() {
    let document: Value = serde_json::from_str(&chronos_server::rest::openapi()).unwrap();
    let paths = document["paths"].as_object().unwrap().values();
    let operations = paths.flat_map(|methods| methods.as_object().unwrap().values());
    let names: Vec<&str> = operations.map(|it| it["operationId"].as_str().unwrap()).collect();
    let distinct: BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(distinct.len(), names.len(), "{names:?}");
}

#[tokio::test]
async fn every_route_is_in_the_document_and_nothing_else() {
    let house = House::open().await;
    let id = "01890000-0000-7000-8000-000000000000";
    let documented = documented();
    assert_eq!(documented.len(), 71, "{documented:?}");
    let paths: BTreeSet<&str> =
        documented.iter().map(|asked| asked.split_once(' ').unwrap().1).collect();
    for path in paths {
        // The server says what a path is good for when it is asked for what it is not.
        let answer = send(house.address(), "TRACE", &path.replace("{id}", id), "", b"").await;
        assert_eq!(answer.status, 405, "{path}: {}", answer.text);
        let allowed = answer.header("allow").unwrap().split(',').map(str::trim);
        let allowed: BTreeSet<String> =
            allowed.filter(|it| *it != "HEAD").map(|it| format!("{it} {path}")).collect();
        let told: BTreeSet<String> =
            documented.iter().filter(|it| it.ends_with(&format!(" {path}"))).cloned().collect();
        assert_eq!(allowed, told);
    }
    house.close().await;
}
