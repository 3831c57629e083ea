//! The house: a daemon in this process with handlers that do as the test says.

use std::net::SocketAddr;
use std::sync::Arc;

use chronos_core::http::Reach;
use chronos_engine::{CancellationToken, JobContext, NewJob, SchedulerError, SchedulerService};
use chronos_server::daemon::{Daemon, ServeConfig};
use chronos_server::proto::scheduler_client::SchedulerClient;
use chronos_server::proto::{
    CreateJobRequest, Execution, GetExecutionRequest, GetJobRequest, Job, JobSpec, RunJobRequest,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tonic::transport::{Channel, Endpoint};

use super::soon;

/// Jobs that the house brings along, one per handler.
pub(crate) const HANDLERS: [&str; 4] = ["fail", "stubborn", "succeed", "wait"];

pub(crate) struct House {
    pub(crate) daemon: Daemon,
    pub(crate) client: SchedulerClient<Channel>,
    /// Each permit lets one run of "wait" or "stubborn" end.
    pub(crate) leave: Arc<Semaphore>,
}

pub(crate) fn config() -> ServeConfig {
    let mut config = ServeConfig::new("unused");
    config.listen = "127.0.0.1:0".parse().unwrap();
    config.scheduler.reach = Reach::public(["127.0.0.1".parse().unwrap()]);
    config
}

impl House {
    pub(crate) async fn open() -> Self {
        Self::with(config()).await
    }

    pub(crate) async fn with(config: ServeConfig) -> Self {
        let leave = Arc::new(Semaphore::new(0));
        let handed = leave.clone();
        let daemon = Daemon::start(config, async |service| register(service, handed).await);
        let daemon = daemon.await.unwrap();
        let client = client(daemon.address()).await;
        Self { daemon, client, leave }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.daemon.address()
    }

    pub(crate) async fn create(&mut self, spec: JobSpec) -> Job {
        let request = CreateJobRequest { spec: Some(spec) };
        soon(self.client.create_job(request)).await.unwrap().into_inner()
    }

    pub(crate) async fn job(&mut self, job: &str) -> Job {
        let request = GetJobRequest { job: job.into() };
        soon(self.client.get_job(request)).await.unwrap().into_inner()
    }

    pub(crate) async fn run(&mut self, job: &str) -> Execution {
        let request = RunJobRequest { job: job.into() };
        soon(self.client.run_job(request)).await.unwrap().into_inner()
    }

    pub(crate) async fn execution(&mut self, id: &str) -> Execution {
        let request = GetExecutionRequest { id: id.into() };
        soon(self.client.get_execution(request)).await.unwrap().into_inner()
    }

    /// The execution once it has the status.
    pub(crate) async fn until(&mut self, id: &str, status: &str) -> Execution {
        soon(async {
            loop {
                let execution = self.execution(id).await;
                if execution.status == status {
                    return execution;
                }
                tokio::task::yield_now().await;
            }
        })
        .await
    }

    pub(crate) async fn close(self) {
        drop(self.client);
        soon(self.daemon.shutdown()).await.unwrap();
    }
}

pub(crate) async fn client(address: SocketAddr) -> SchedulerClient<Channel> {
    let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
    SchedulerClient::new(soon(endpoint.connect()).await.unwrap())
}

async fn register(service: &SchedulerService, leave: Arc<Semaphore>) -> Result<(), SchedulerError> {
    let never = "9000-01-01T00:00:00Z".parse().unwrap();
    let job = |name| NewJob::named(name).at(never);
    service
        .register(job("succeed"), |context: JobContext| async move { context.log("done") })
        .await?;
    service.register(job("fail"), || async { Err::<(), _>("no luck") }).await?;
    let stubborn = leave.clone();
    let waits = move |token: CancellationToken| {
        let leave = leave.clone();
        async move {
            tokio::select! {
                permit = leave.acquire() => {
                    permit.unwrap().forget();
                    Ok(())
                }
                () = token.cancelled() => Err("asked to stop"),
            }
        }
    };
    service.register(job("wait"), waits).await?;
    let stays = move || {
        let leave = stubborn.clone();
        async move { leave.acquire_owned().await.unwrap().forget() }
    };
    service.register(job("stubborn"), stays).await?;
    Ok(())
}

/// The whole answer to bytes that are sent as they are, up to the end of the connection.
pub(crate) async fn raw(address: SocketAddr, request: &str) -> String {
    let mut stream = soon(TcpStream::connect(address)).await.unwrap();
    soon(stream.write_all(request.as_bytes())).await.unwrap();
    let mut answer = Vec::new();
    // A peer that closes without reading everything resets the connection.
    let _ = soon(stream.read_to_end(&mut answer)).await;
    String::from_utf8_lossy(&answer).into_owned()
}

/// The status line's code and the body of the answer to a GET.
pub(crate) async fn get(address: SocketAddr, path: &str) -> (u16, String) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    split(&raw(address, &request).await)
}

pub(crate) fn split(answer: &str) -> (u16, String) {
    let code = answer.split(' ').nth(1).and_then(|code| code.parse().ok());
    let body = answer.split_once("\r\n\r\n").map(|(_, body)| body.to_string());
    (code.unwrap_or(0), body.unwrap_or_default())
}
