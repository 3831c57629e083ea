/** One audit event: what, when, who, and about what. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ChevronDown } from "lucide-react";
import { memo, useId, useState } from "react";
import type { AuditEvent } from "@/api/client";
import { me, users } from "@/api/queries";
import { classes } from "@/lib/classes";
import { absolute, brief, inLocalTimes } from "@/lib/time";
import type { Tone } from "@/lib/words";
import { Code } from "@/parts/code";
import { JobLink } from "@/parts/job-link";
import { useMay } from "@/parts/may";
import { Badge } from "@/ui/status";

const TONES: Record<string, Tone> = { success: "good", failure: "bad", suppressed: "warn" };
/** Where the words already say that nobody else did it. */
const NOBODY = "scheduler";

interface Props {
  event: AuditEvent;
  /** Whether it stands where its job is known and room is scarce. */
  short?: boolean;
}

/** Drawn once: what is on record does not change. */
export const AuditLine = memo(function AuditLine({ event, short }: Props) {
  const [open, setOpen] = useState(false);
  const details = useId();
  const some = Object.keys(event.details).length > 0 || Boolean(event.trace_id);
  const summary = inLocalTimes(event.summary);
  return (
    <li className="px-4 py-1.5 text-sm">
      <div
        className={classes(
          "items-baseline gap-x-4 gap-y-1",
          short
            ? "flex flex-wrap"
            : "grid grid-cols-[auto_1fr_auto] sm:grid-cols-[8.5rem_11.5rem_minmax(0,1fr)_auto]",
        )}
      >
        <time
          dateTime={event.timestamp}
          title={absolute(event.timestamp)}
          className="tabular whitespace-nowrap text-faint"
        >
          {brief(event.timestamp)}
        </time>
        <span>
          <Badge tone={TONES[event.outcome] ?? "plain"}>{event.type}</Badge>
        </span>
        <div
          className={classes(
            "wrap-anywhere min-w-0",
            short ? "order-last w-full" : "order-last col-span-full sm:order-none sm:col-auto",
          )}
        >
          {event.job_id && !short && (
            <span className="mr-2 inline-flex max-w-64 align-bottom">
              <JobLink id={event.job_id} />
            </span>
          )}
          {event.execution_id ? (
            <Link
              to="/executions/$id"
              params={{ id: event.execution_id }}
              className="underline-offset-2 hover:underline"
            >
              {summary}
            </Link>
          ) : (
            summary
          )}
          {event.actor !== NOBODY && (
            <span className="ml-2 whitespace-nowrap text-faint text-xs">
              by <Who id={event.actor} />
            </span>
          )}
        </div>
        {some && (
          <button
            type="button"
            aria-expanded={open}
            aria-controls={details}
            aria-label={`Details of ${event.audit_id}`}
            onClick={() => setOpen(!open)}
            className={classes("justify-self-start rounded text-faint hover:text-ink", short && "ml-auto")}
          >
            <ChevronDown
              className={classes("size-4 transition-transform", open && "rotate-180")}
              aria-hidden
            />
          </button>
        )}
      </div>
      {open && <Details id={details} event={event} />}
    </li>
  );
});

function Details({ id, event }: { id: string; event: AuditEvent }) {
  return (
    <div id={id} className="mt-1.5 space-y-1.5">
      {event.trace_id && (
        <p className="wrap-anywhere text-xs">
          Trace{" "}
          <Link
            to="/audit"
            search={{ trace_id: event.trace_id }}
            className="font-mono text-accent underline underline-offset-2"
          >
            {event.trace_id}
          </Link>
        </p>
      )}
      {Object.keys(event.details).length > 0 && (
        <Code label={`Details of ${event.audit_id}`}>{JSON.stringify(event.details, null, 2)}</Code>
      )}
    </div>
  );
}

/** A user by name, as far as whoever reads may know it. */
export function Who({ id }: { id: string }) {
  const may = useMay();
  const own = useQuery(me);
  const all = useQuery({ ...users, enabled: may.admin && id !== "local" });
  if (id === "local") return <>somebody on this machine</>;
  if (own.data?.user?.id === id) return <>you</>;
  const found = all.data?.items.find((user) => user.id === id);
  return found ? found.username : <code className="font-mono text-2xs">{id.slice(0, 8)}</code>;
}
