/** What can be done with jobs and executions. */
import { api, done, type Job } from "./client";

const at = (id: string) => ({ params: { path: { id } } });

export const run = (id: string) => done(api.POST("/jobs/{id}/run", at(id)));
export const retry = (id: string) => done(api.POST("/jobs/{id}/retry", at(id)));
export const resume = (id: string) => done(api.POST("/jobs/{id}/resume", at(id)));
export const switchOff = (id: string) => done(api.POST("/jobs/{id}/cancel", at(id)));
export const cancelExecution = (id: string) => done(api.POST("/executions/{id}/cancel", at(id)));

export const switchOn = (id: string) =>
  done(api.PATCH("/jobs/{id}", { ...at(id), body: { enabled: true } as never }));

export const pause = (id: string, note?: string, resume_at?: string) =>
  done(api.POST("/jobs/{id}/pause", { ...at(id), body: { note, resume_at } }));

export const purge = (id: string) =>
  done(api.DELETE("/jobs/{id}", { params: { path: { id }, query: { purge: true } as never } }));

type Verb = "run" | "retry" | "pause" | "resume" | "switchOff" | "switchOn" | "purge";

/** An act on jobs, as it is offered and asked about. */
export interface Act {
  name: string;
  /** What happens to each. */
  consequence: string;
  done: string;
  danger?: boolean;
  isFor: (job: Job) => boolean;
  go: (job: Job) => Promise<unknown>;
}

export const ACTS: Record<Verb, Act> = {
  run: {
    name: "Run now",
    consequence: "runs once now, beside its schedule",
    done: "Asked to run",
    isFor: () => true,
    go: (job) => run(job.id),
  },
  retry: {
    name: "Retry now",
    consequence: "tries again now, in place of a retry that waits",
    done: "Asked to try again",
    isFor: () => true,
    go: (job) => retry(job.id),
  },
  pause: {
    name: "Pause",
    consequence: "fires no more until it is resumed; what runs goes on",
    done: "Paused",
    isFor: (job) => job.enabled && !job.paused,
    go: (job) => pause(job.id),
  },
  resume: {
    name: "Resume",
    consequence: "fires again from its next slot on",
    done: "Resumed",
    isFor: (job) => Boolean(job.paused),
    go: (job) => resume(job.id),
  },
  switchOff: {
    name: "Switch off",
    consequence: "has no more slots; what waits is cancelled and what runs is asked to stop",
    done: "Switched off",
    danger: true,
    isFor: (job) => job.enabled || job.running > 0,
    go: (job) => switchOff(job.id),
  },
  switchOn: {
    name: "Switch on",
    consequence: "has slots again",
    done: "Switched on",
    isFor: (job) => job.status === "DISABLED",
    go: (job) => switchOn(job.id),
  },
  purge: {
    name: "Delete",
    consequence: "is removed for good, with what became of it",
    done: "Deleted",
    danger: true,
    isFor: () => true,
    go: (job) => purge(job.id),
  },
};
