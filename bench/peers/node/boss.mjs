// pg-boss: no-op jobs as fast as it can.
//
// node boss.mjs throughput URL JOBS ROUNDS

import pg from "pg";
import Boss from "pg-boss";
import { rounds } from "./clock.mjs";

const [, connectionString, amount, times] = process.argv.slice(2);
const [QUEUE, BATCH, FETCHERS] = ["nothing", 5_000, 2];
const jobs = Number(amount);
const pool = new pg.Pool({ connectionString, max: 4 });
const boss = new Boss({ connectionString, max: 10, supervise: false, schedule: false });
await boss.start();
await boss.createQueue(QUEUE);

async function fill() {
  for (let filled = 0; filled < jobs; filled += BATCH) {
    await boss.insert(Array.from({ length: Math.min(BATCH, jobs - filled) }, () => ({ name: QUEUE, data: {} })));
  }
  await pool.query("VACUUM ANALYZE pgboss.job");
  await pool.query("CHECKPOINT");
}

/// Takes batch after batch by hand: its own worker sleeps between two, so it is no faster.
async function fetcher() {
  let ended = 0;
  for (;;) {
    const batch = await boss.fetch(QUEUE, { batchSize: BATCH });
    if (batch.length === 0) return ended;
    await boss.complete(QUEUE, batch.map((job) => job.id));
    ended += batch.length;
  }
}

await rounds(Number(times), fill, async () => {
  const ended = await Promise.all(Array.from({ length: FETCHERS }, fetcher));
  const all = ended.reduce((sum, each) => sum + each, 0);
  if (all !== jobs) throw new Error(`${all} of ${jobs} jobs ended`);
});
await boss.stop({ graceful: false });
await pool.end();
