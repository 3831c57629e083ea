//! The gate before the state: those who must wait for their step let their thread do something else.
//!
//! A step of many runs takes milliseconds. On a lock, a thread would sleep through another's step, with work
//! for it waiting. Whoever comes first when the gate opens goes in, so that it is never kept for someone who
//! is not there yet.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

#[derive(Debug, Default)]
pub(super) struct Gate {
    closed: AtomicBool,
    opened: Notify,
}

/// Leave to be behind the gate, until it is dropped.
#[derive(Debug)]
pub(super) struct Pass<'a>(&'a Gate);

impl Gate {
    pub(super) async fn enter(&self) -> Pass<'_> {
        while self.closed.swap(true, Ordering::Acquire) {
            self.opened.notified().await;
        }
        Pass(self)
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.0.closed.store(false, Ordering::Release);
        self.0.opened.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn one_is_behind_it_at_a_time_and_everyone_gets_there() {
        let (gate, inside) = (Arc::new(Gate::default()), Arc::new(AtomicUsize::new(0)));
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..64 {
            let (gate, inside) = (gate.clone(), inside.clone());
            tasks.spawn(async move {
                for _ in 0..200 {
                    let pass = gate.enter().await;
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                    std::thread::yield_now();
                    inside.fetch_sub(1, Ordering::SeqCst);
                    drop(pass);
                    tokio::task::yield_now().await;
                }
            });
        }
        while let Some(ended) = tasks.join_next().await {
            ended.unwrap();
        }
    }

    #[tokio::test]
    async fn someone_who_gives_up_waiting_keeps_nobody_out() {
        let gate = Gate::default();
        let pass = gate.enter().await;
        let mut waiting = Box::pin(gate.enter());
        assert!(waits(&mut waiting).await);
        drop(pass);
        drop(waiting);
        let _pass = gate.enter().await;
    }

    /// Whether the future still waits after one look.
    async fn waits<T>(future: &mut (impl Future<Output = T> + Unpin)) -> bool {
        std::future::poll_fn(|context| {
            std::task::Poll::Ready(std::pin::Pin::new(&mut *future).poll(context).is_pending())
        })
        .await
    }
}
