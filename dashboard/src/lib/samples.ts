/** What the counters did while somebody looked: the API tells sums, and a chart shows how they grow. */
import { useEffect, useSyncExternalStore } from "react";
import type { JobFigures } from "@/api/client";

/** Samples that are kept: ten minutes of them. */
const KEPT = 200;

export interface Sample {
  at: number;
  succeeded: number;
  failed: number;
  /** The mean of what ended since the sample before, if anything did. */
  lag: number | null;
}

let samples: Sample[] = [];
let before: { at: number; figures: JobFigures } | undefined;
const listeners = new Set<() => void>();

/** The samples, one more with each answer. */
export function useSamples(figures: JobFigures | undefined, at: number): Sample[] {
  useEffect(() => {
    if (figures) take(figures, at);
  }, [figures, at]);
  return useSyncExternalStore(listen, () => samples);
}

function take(figures: JobFigures, at: number) {
  if (before && before.at >= at) return;
  const last = before;
  before = { at, figures };
  // Another node may have answered, or the daemon may have begun anew: its sums are others.
  if (!last || last.figures.since !== figures.since) return;
  const grown = (of: (it: JobFigures) => number) => Math.max(0, of(figures) - of(last.figures));
  const sample = {
    at,
    succeeded: grown((it) => it.executions.success),
    failed: grown((it) => it.executions.failed + it.executions.timed_out + it.executions.stuck),
    lag: figures.start_lag.avg_ms ?? null,
  };
  samples = [...samples.slice(1 - KEPT), sample];
  for (const listener of listeners) listener();
}

function listen(listener: () => void) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
