// graphile-worker: no-op jobs as fast as it can, or how soon after its creation a job begins.
//
// node graphile.mjs throughput URL JOBS ROUNDS | latency URL SAMPLES

import { Logger, run, runMigrations } from "graphile-worker";
import pg from "pg";
import { now, rounds, sleep } from "./clock.mjs";

const [what, connectionString, amount, times] = process.argv.slice(2);
const pgPool = new pg.Pool({ connectionString, max: 10 });
// It asks for someone to hear of connections that are lost while nobody uses them.
pgPool.on("error", () => {});
pgPool.on("connect", (client) => client.on("error", () => {}));
const silent = new Logger(() => () => {});
await runMigrations({ pgPool, logger: silent });

/// Runs that are left out while caches fill, and the milliseconds between two in which all is idle.
const [WARM_UP, PAUSE] = [50, 60];

/// Tuned for throughput: many jobs are fetched at once, and their ends are written together.
const many = {
  worker: {
    concurrentJobs: 24,
    localQueue: { size: 5_000 },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
    pollInterval: 2_000,
  },
};

async function fill(jobs) {
  await pgPool.query(
    `SELECT 1 FROM graphile_worker.add_jobs(ARRAY(
       SELECT json_populate_record(NULL::graphile_worker.job_spec, '{"identifier":"nothing","payload":{}}')
       FROM generate_series(1, $1::integer)))`,
    [jobs],
  );
  await pgPool.query("VACUUM ANALYZE graphile_worker._private_jobs");
  await pgPool.query("CHECKPOINT");
}

async function workOff(jobs) {
  let left = jobs;
  let over;
  const all = new Promise((resolve) => {
    over = resolve;
  });
  const nothing = async () => {
    left -= 1;
    if (left === 0) over();
  };
  const runner = await run({ pgPool, logger: silent, noHandleSignals: true, preset: many, taskList: { nothing } });
  await all;
  // Ends that are gathered are written before it has stopped.
  await runner.stop();
  const kept = await pgPool.query("SELECT count(*)::integer AS jobs FROM graphile_worker._private_jobs");
  if (kept.rows[0].jobs !== 0) throw new Error(`${kept.rows[0].jobs} of ${jobs} jobs did not end`);
}

/// Adds a job when the one before is over, and tells how long each took to begin, in milliseconds.
async function latency(samples) {
  let begun;
  const noted = async () => begun(now());
  // As its documentation has it for jobs that should begin soon: no local queue, no batches.
  const preset = { worker: { concurrentJobs: 10, pollInterval: 2_000 } };
  const runner = await run({ pgPool, logger: silent, noHandleSignals: true, preset, taskList: { noted } });
  for (let sample = -WARM_UP; sample < samples; sample += 1) {
    const start = new Promise((resolve) => {
      begun = resolve;
    });
    const added = now();
    await pgPool.query("SELECT 1 FROM graphile_worker.add_job('noted', '{}')");
    const lag = (await start) - added;
    if (sample >= 0) console.log(lag);
    await sleep(PAUSE);
  }
  await runner.stop();
}
if (what === "throughput") {
  const jobs = Number(amount);
  await rounds(Number(times), () => fill(jobs), () => workOff(jobs));
} else {
  await latency(Number(amount));
}
await pgPool.end();
