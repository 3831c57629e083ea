/** Keeps what is shown true: the scheduler says what changed, and that alone is asked for again. */
import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import type { components } from "./schema";
import { follow } from "./stream";

type Changes = components["schemas"]["JobChanges"];

/** What is shown is asked for anew this often at most, however much happens. */
const PACE_MS = 1_000;
/** What just changed may be about to change again, such as from waiting to running. */
const AGAIN_MS = 1_500;

/** What changes without a job is asked for anew this often at most, while the stream is there. */
const BREATH_MS = 10_000;

/** Lists that any change of a job may change. */
const LISTS = ["jobs", "dead-letters", "recent", "subscriptions", "workers"];
/** Lists that change without a job, and are asked for with each sign of life. */
const SLOW_LISTS = ["workers", "quiet-hours", "users", "keys", "toc-list"];

export function useLive(enabled: boolean) {
  const client = useQueryClient();
  useEffect(() => {
    if (!enabled) return;
    const renewer = new Renewer(client);
    let stop: AbortController | undefined;
    const listen = () => {
      stop?.abort();
      stop = undefined;
      // A page that nobody sees needs no news; a browser has few connections for all its tabs.
      if (document.hidden) return;
      stop = new AbortController();
      let began = false;
      const onLine = ({ data }: { data?: string }) => {
        if (data) renewer.note(JSON.parse(data) as Changes);
        // Whatever happened while nobody listened is not told again.
        else if (!began) renewer.note({ jobs: [], many: true });
        else renewer.breathe();
        began = true;
      };
      const onState = (state: string) => {
        if (state === "connecting") began = false;
      };
      void follow({ path: () => "/jobs/stream", onLine, onState }, stop.signal);
    };
    listen();
    document.addEventListener("visibilitychange", listen);
    return () => {
      document.removeEventListener("visibilitychange", listen);
      stop?.abort();
      renewer.stop();
    };
  }, [client, enabled]);
}

class Renewer {
  private jobs = new Set<string>();
  private many = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private last = 0;
  private breathed = 0;
  private later: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly client: QueryClient) {}

  note({ jobs, many }: Changes) {
    for (const job of jobs) this.jobs.add(job);
    this.many ||= many;
    if (this.timer !== undefined) return;
    const wait = Math.max(0, this.last + PACE_MS - Date.now());
    this.timer = setTimeout(() => this.renew(), wait);
  }

  /** The stream is there; what changes without a job may have. */
  breathe() {
    if (Date.now() < this.breathed + BREATH_MS) return;
    this.breathed = Date.now();
    this.invalidate(([kind]) => SLOW_LISTS.includes(String(kind)));
  }

  stop() {
    clearTimeout(this.timer);
    clearTimeout(this.later);
  }

  private renew() {
    const [jobs, many] = [this.jobs, this.many];
    this.timer = undefined;
    this.last = Date.now();
    this.jobs = new Set();
    this.many = false;
    const ask = () => this.ask(jobs, many);
    ask();
    this.breathe();
    clearTimeout(this.later);
    this.later = setTimeout(ask, AGAIN_MS);
  }

  private ask(jobs: Set<string>, many: boolean) {
    const concerns = ([kind, of]: readonly unknown[]) => {
      if (LISTS.includes(String(kind))) return true;
      if (kind === "execution" || kind === "explain") return true;
      return (
        (kind === "job" || kind === "executions" || kind === "backfills") && (many || jobs.has(String(of)))
      );
    };
    this.invalidate(concerns);
  }

  private invalidate(concerns: (key: readonly unknown[]) => boolean) {
    // One that is being asked for already tells what is true by then or soon after.
    void this.client.invalidateQueries(
      { predicate: (query) => concerns(query.queryKey), refetchType: "active" },
      { cancelRefetch: false },
    );
  }
}
