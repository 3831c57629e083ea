//! A copy of the store, as a stream of chunks.

use std::io::{self, Write};
use std::sync::Arc;

use chronos_store::EmbeddedStore;
use futures::Stream;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use crate::proto::BackupChunk;

/// What one message carries, well below what clients take.
const CHUNK: usize = 256 << 10;
/// Chunks that may wait for a slow reader.
const AHEAD: usize = 4;

type Chunk = Result<BackupChunk, Status>;

/// Copies the store on a thread that may block, as fast as the chunks are taken. It ends without an
/// error only when the copy is whole.
pub(super) fn stream(store: Arc<EmbeddedStore>) -> impl Stream<Item = Chunk> {
    let (chunks, taken) = mpsc::channel(AHEAD);
    tokio::task::spawn_blocking(move || {
        if let Err(error) = store.backup(&mut Chunks(&chunks)) {
            // Whoever has gone away need not be told.
            let _ = chunks.blocking_send(Err(Status::internal(error.to_string())));
        }
    });
    ReceiverStream::new(taken)
}

struct Chunks<'a>(&'a mpsc::Sender<Chunk>);

impl Write for Chunks<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let data = bytes[..bytes.len().min(CHUNK)].to_vec();
        let written = data.len();
        let sent = self.0.blocking_send(Ok(BackupChunk { data }));
        sent.map(|()| written).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
