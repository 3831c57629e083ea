//! Passwords: which are accepted, and the slow work of hashing them, which never takes the machine.

use std::sync::Arc;
use std::time::Duration;

use argon2::password_hash::phc;
use argon2::{Algorithm, Argon2, Params, PasswordHasher, PasswordVerifier};
use axum::http::StatusCode;
use chronos_core::account::{PasswordHash, UserName};
use tokio::sync::{OnceCell, Semaphore};

use crate::problem::{FieldError, Problem};

/// Characters that a password must have.
const SHORTEST: usize = 8;
/// Bytes that a password may have: nobody types more, and hashing it takes time.
pub(super) const LONGEST: usize = 1_024;
/// Passwords that are worked on at once; each takes 19 MiB and most of a core meanwhile.
const AT_ONCE: usize = 2;
/// Passwords that wait for that; further ones are refused.
const WAITING: usize = 64;
/// What everyone tries first, one on each line.
const COMMON: &str = include_str!("common_passwords.txt");

/// Hashes and checks passwords, a few at a time.
#[derive(Debug)]
pub(super) struct Passwords {
    places: Arc<Semaphore>,
    queue: Arc<Semaphore>,
    /// Of a password that nobody has: users who do not exist take as long as others.
    nobodys: OnceCell<PasswordHash>,
}

impl Passwords {
    pub(super) fn new() -> Self {
        let places = Arc::new(Semaphore::new(AT_ONCE));
        let queue = Arc::new(Semaphore::new(AT_ONCE + WAITING));
        Self { places, queue, nobodys: OnceCell::new() }
    }

    /// What is kept of a password.
    pub(super) async fn hash(&self, password: String) -> Result<PasswordHash, Problem> {
        self.work(move || hash(&password)).await?
    }

    /// Whether the password is the one that was hashed. Without a hash it never is, and it takes as
    /// long to say so.
    pub(super) async fn verify(
        &self,
        known: Option<PasswordHash>,
        password: String,
    ) -> Result<bool, Problem> {
        let is_known = known.is_some();
        let against = match known {
            Some(known) => known,
            None => self.nobodys.get_or_try_init(|| self.hash("nobody".into())).await?.clone(),
        };
        let fits = self.work(move || verify(&against, &password)).await?;
        Ok(fits && is_known)
    }

    /// Does slow work on a thread that may block, when it is its turn.
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let Ok(_waiting) = self.queue.clone().try_acquire_owned() else {
            let detail = "too many logins are under way; try again";
            return Err(Problem::too_many(detail, Duration::from_secs(1)));
        };
        let turn = self.places.clone().acquire_owned().await.map_err(|_| failed())?;
        let done = tokio::task::spawn_blocking(move || {
            // Held by the work itself: whoever asked may be gone before it is done.
            let _turn = turn;
            work()
        });
        done.await.map_err(|_| failed())
    }
}

fn failed() -> Problem {
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the password could not be worked on")
}

fn hash(password: &str) -> Result<PasswordHash, Problem> {
    let hashed = Argon2::default().hash_password(password.as_bytes()).map_err(|_| failed())?;
    Ok(PasswordHash::new(hashed.to_string()))
}

fn verify(known: &PasswordHash, password: &str) -> bool {
    Argon2::default().verify_password(password.as_bytes(), known.expose()).is_ok()
}

/// Whether a hash was made at another cost than new ones are.
pub(super) fn is_outdated(known: &PasswordHash) -> bool {
    let Ok(parsed) = phc::PasswordHash::new(known.expose()) else {
        return true;
    };
    let params = Params::try_from(&parsed);
    let is_current = params.is_ok_and(|params| {
        let (now, usual) = (params, Params::DEFAULT);
        (now.m_cost(), now.t_cost(), now.p_cost())
            == (usual.m_cost(), usual.t_cost(), usual.p_cost())
    });
    parsed.algorithm.as_str() != Algorithm::Argon2id.as_str() || !is_current
}

/// Refuses a password that is longer than anyone's.
pub(super) fn check_length(field: &str, password: &str) -> Result<(), FieldError> {
    if password.len() <= LONGEST {
        return Ok(());
    }
    let length = password.len();
    Err(FieldError::new(field, format!("{length} bytes are not accepted; use at most {LONGEST}")))
}

/// Refuses a new password that is too short, too long or the first to be tried.
pub(super) fn check_new(field: &str, password: &str, name: &UserName) -> Result<(), FieldError> {
    check_length(field, password)?;
    let length = password.chars().count();
    let refused = |problem: String| Err(FieldError::new(field, problem));
    if length < SHORTEST {
        return refused(format!("{length} characters are not accepted; use {SHORTEST} or more"));
    }
    let lower = password.to_lowercase();
    let mut letters = lower.chars();
    let first = letters.next();
    if letters.all(|letter| Some(letter) == first) || COMMON.lines().any(|common| common == lower) {
        return refused(
            "it is one of those tried first; use several words, or a made-up one".into(),
        );
    }
    if lower == name.key() {
        return refused("it is the name; use something that nobody knows".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD_NO_PAD;

    use super::*;

    #[test]
    fn what_is_tried_first_is_no_password() {
        let name = UserName::parse("Hopper-Grace").unwrap();
        let check = |password: &str| check_new("password", password, &name);
        for good in
            ["correct horse", "pässwörter sind gut", "日本語のパスワード", &"x y".repeat(300)]
        {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        let long = "x".repeat(LONGEST + 1);
        for bad in
            ["", "seven77", "password123", "PassWord123", "aaaaaaaaaa", "hopper-grace", &long]
        {
            assert_eq!(check(bad).unwrap_err().field, "password", "{bad}");
        }
    }

    #[test]
    fn a_hash_is_argon2id_at_the_usual_cost_with_its_own_salt() {
        let (one, other) = (hash("correct horse").unwrap(), hash("correct horse").unwrap());
        assert!(one.expose().starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{}", one.expose());
        let salt = |hash: &PasswordHash| {
            let salt = hash.expose().split('$').nth(4).unwrap().to_owned();
            STANDARD_NO_PAD.decode(salt).unwrap()
        };
        assert_eq!((salt(&one).len(), salt(&other).len()), (16, 16));
        assert_ne!(salt(&one), salt(&other));
        assert!(verify(&one, "correct horse") && !verify(&one, "correct horsf"));
        assert!(!is_outdated(&one));
        for old in [one.expose().replace("t=2", "t=1"), one.expose().replace("argon2id", "argon2i")]
        {
            assert!(is_outdated(&PasswordHash::new(old)));
        }
    }

    #[tokio::test]
    async fn more_than_can_wait_are_turned_away() {
        let passwords = Arc::new(Passwords::new());
        let held = passwords.places.clone().acquire_many_owned(2).await.unwrap();
        let mut waiting = Vec::new();
        for _ in 0..AT_ONCE + WAITING {
            let passwords = passwords.clone();
            waiting.push(tokio::spawn(async move { passwords.work(|| ()).await }));
        }
        while passwords.queue.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        let refused = passwords.work(|| ()).await.unwrap_err();
        assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
        drop(held);
        for one in waiting {
            one.await.unwrap().unwrap();
        }
        passwords.work(|| ()).await.unwrap();
    }

    #[tokio::test]
    async fn a_user_who_does_not_exist_takes_the_same_work() {
        let passwords = Passwords::new();
        assert!(!passwords.verify(None, "nobody".into()).await.unwrap());
        let nobodys = passwords.nobodys.get().unwrap();
        assert!(!is_outdated(nobodys), "it costs what others cost");
    }
}
