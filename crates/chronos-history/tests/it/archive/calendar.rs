//! Where the table of contents tells of instants around the ends of years and 29 February.

use std::time::Duration;

use chronos_core::audit::EndingKind;
use chronos_history::{Level, Node, Period, Phase, Shelf};
use tempfile::tempdir;

use super::{open, project, roll_up};
use crate::world::{at, ended, job};

#[tokio::test]
async fn instants_at_the_turn_of_years_and_in_leap_days_are_told_where_they_belong() {
    let table = [
        // A week belongs to the month of its Thursday, and so does all that happened in it.
        ("2020-12-31T23:59:59Z", ["2020-12-31T23", "2020-12-31", "2020:W53", "2020-12", "2020"]),
        ("2021-01-01T00:00:00Z", ["2021-01-01T00", "2021-01-01", "2020:W53", "2020-12", "2020"]),
        ("2021-01-03T23:59:59Z", ["2021-01-03T23", "2021-01-03", "2020:W53", "2020-12", "2020"]),
        ("2021-01-04T00:00:00Z", ["2021-01-04T00", "2021-01-04", "2021:W01", "2021-01", "2021"]),
        ("2019-12-30T12:00:00Z", ["2019-12-30T12", "2019-12-30", "2020:W01", "2020-01", "2020"]),
        ("2026-12-31T12:00:00Z", ["2026-12-31T12", "2026-12-31", "2026:W53", "2026-12", "2026"]),
        ("2027-01-01T12:00:00Z", ["2027-01-01T12", "2027-01-01", "2026:W53", "2026-12", "2026"]),
        ("2024-02-29T00:00:00Z", ["2024-02-29T00", "2024-02-29", "2024:W09", "2024-02", "2024"]),
        ("2024-03-01T00:00:00Z", ["2024-03-01T00", "2024-03-01", "2024:W09", "2024-02", "2024"]),
        ("2024-03-04T00:00:00Z", ["2024-03-04T00", "2024-03-04", "2024:W10", "2024-03", "2024"]),
        ("2023-02-28T23:59:59Z", ["2023-02-28T23", "2023-02-28", "2023:W09", "2023-03", "2023"]),
        ("2023-03-01T00:00:00Z", ["2023-03-01T00", "2023-03-01", "2023:W09", "2023-03", "2023"]),
        ("2000-02-29T12:00:00Z", ["2000-02-29T12", "2000-02-29", "2000:W09", "2000-03", "2000"]),
        ("2100-02-28T12:00:00Z", ["2100-02-28T12", "2100-02-28", "2100:W08", "2100-02", "2100"]),
    ];
    for (instant, ids) in table {
        let directory = tempdir().unwrap();
        let archive = open(directory.path());
        let second = Duration::from_secs(1);
        project(&archive, &[ended(1, job(1), at(instant), EndingKind::Success, second)]);
        roll_up(&archive, at("2101-01-01T00:00:00Z")).await;
        for (level, id) in Level::ALL.into_iter().zip(ids) {
            let id = format!("toc:{level}:{id}");
            let period: Period = id.parse().unwrap();
            let node = archive.node(Shelf::Everyone, period).unwrap();
            let node = node.unwrap_or_else(|| panic!("{instant} is not told in {id}"));
            assert_eq!(node.figures.endings.success, 1);
        }
    }
}

#[tokio::test]
async fn a_period_is_partial_until_nothing_more_is_expected_in_it() {
    let directory = tempdir().unwrap();
    let archive = open(directory.path());
    let second = Duration::from_secs(1);
    let runs = ["2026-11-10T02:30:00Z", "2026-11-10T13:30:00Z"];
    let runs = runs.iter().zip(1..);
    let entries: Vec<_> =
        runs.map(|(when, n)| ended(n, job(1), at(when), EndingKind::Success, second)).collect();
    project(&archive, &entries);
    let node =
        |id: &str| -> Option<Node> { archive.node(Shelf::Everyone, id.parse().unwrap()).unwrap() };
    let phase = |id: &str| node(id).map(|node| (node.phase, node.figures.endings.success));

    // The hour from 13:00 is not old enough to be told of.
    roll_up(&archive, at("2026-11-10T14:59:59Z")).await;
    assert_eq!(phase("toc:hour:2026-11-10T02"), Some((Phase::Final, 1)));
    assert_eq!(phase("toc:hour:2026-11-10T13"), None);
    assert_eq!(phase("toc:day:2026-11-10"), Some((Phase::Partial, 1)));
    assert_eq!(phase("toc:week:2026:W46"), None);

    roll_up(&archive, at("2026-11-10T15:00:00Z")).await;
    assert_eq!(phase("toc:day:2026-11-10"), Some((Phase::Partial, 2)));

    // An hour after its end a day is final, a day after its end a week tells of it.
    roll_up(&archive, at("2026-11-11T01:00:00Z")).await;
    assert_eq!(phase("toc:day:2026-11-10"), Some((Phase::Final, 2)));
    assert_eq!(phase("toc:week:2026:W46"), None);
    roll_up(&archive, at("2026-11-12T00:00:00Z")).await;
    assert_eq!(phase("toc:week:2026:W46"), Some((Phase::Partial, 2)));
    assert_eq!(phase("toc:month:2026-11"), None);

    roll_up(&archive, at("2026-11-17T00:00:00Z")).await;
    assert_eq!(phase("toc:week:2026:W46"), Some((Phase::Final, 2)));
    assert_eq!(phase("toc:month:2026-11"), Some((Phase::Partial, 2)));
    // The last week of November ends with the 29th; the month goes on until the 30th is over.
    roll_up(&archive, at("2026-12-02T00:00:00Z")).await;
    assert_eq!(phase("toc:month:2026-11"), Some((Phase::Final, 2)));
    assert_eq!(phase("toc:year:2026"), Some((Phase::Partial, 2)));
    // The last week of the year ends on 3 January.
    roll_up(&archive, at("2027-01-03T23:00:00Z")).await;
    assert_eq!(phase("toc:year:2026"), Some((Phase::Partial, 2)));
    roll_up(&archive, at("2027-01-05T00:00:00Z")).await;
    assert_eq!(phase("toc:year:2026"), Some((Phase::Final, 2)));
}

#[tokio::test]
async fn what_comes_late_is_told_on_every_level() {
    let directory = tempdir().unwrap();
    let archive = open(directory.path());
    let second = Duration::from_secs(1);
    let now = at("2026-01-01T00:00:00Z");
    let first = ended(1, job(1), at("2024-02-29T12:00:00Z"), EndingKind::Success, second);
    project(&archive, &[first]);
    roll_up(&archive, now).await;
    let late = ended(2, job(1), at("2024-02-28T12:00:00Z"), EndingKind::Failed, second);
    project(&archive, &[late]);
    let rolled = roll_up(&archive, now).await;
    // The hour and the day of the 28th are new; week, month and year say more; the 29th stays as it is.
    assert_eq!(rolled.nodes, 10);
    for id in ["toc:week:2024:W09", "toc:month:2024-02", "toc:year:2024"] {
        let node = archive.node(Shelf::Everyone, id.parse().unwrap()).unwrap().unwrap();
        assert_eq!((node.version, node.figures.endings.failures()), (2, 1), "{id}");
    }
    let day = archive.node(Shelf::Everyone, "toc:day:2024-02-29".parse().unwrap());
    assert_eq!(day.unwrap().unwrap().version, 1);
}
