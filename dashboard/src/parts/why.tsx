/** Why a slot became what it did, or will: one sentence, and the records that say so. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { SlotExplanation } from "@/api/client";
import { inWords } from "@/api/problem";
import { explain } from "@/api/queries";
import { absolute, inLocalTimes } from "@/lib/time";
import type { Tone } from "@/lib/words";
import { AuditLine } from "@/pages/audit/line";
import { Loading, Refusal } from "@/ui/states";
import { Badge, Status } from "@/ui/status";

const VERDICTS: Record<string, [string, Tone]> = {
  fired: ["Fired", "good"],
  skipped: ["Skipped", "warn"],
  missed: ["Missed", "bad"],
  deferred: ["Deferred", "warn"],
  due: ["Due", "busy"],
  upcoming: ["To come", "plain"],
  will_be_skipped: ["Will be skipped", "warn"],
  off: ["Off", "plain"],
  no_slot: ["No slot", "plain"],
  not_kept: ["No longer kept", "plain"],
  no_record: ["No record", "plain"],
};

/** The explanation of a time of a job. */
export function Why({ job, at, zone }: { job: string; at: string; zone: string | undefined }) {
  const asked = useQuery(explain(job, at));
  if (asked.isPending) return <Loading rows={3} />;
  if (!asked.data) return <Refusal>{inWords(asked.error)}</Refusal>;
  return <Told told={asked.data} zone={zone} />;
}

function Told({ told, zone }: { told: SlotExplanation; zone: string | undefined }) {
  const [name, tone] = VERDICTS[told.verdict] ?? [told.verdict, "plain" as Tone];
  const { before, after } = told.nearest;
  return (
    <div className="space-y-3 text-sm" data-testid="why">
      <p className="wrap-anywhere flex flex-wrap items-baseline gap-2">
        <Badge tone={tone}>{name}</Badge> <span>{inLocalTimes(told.explanation, zone)}</span>
      </p>
      {told.verdict === "no_slot" && (before || after) && (
        <p className="text-soft">
          {before && <>The slot before it is {absolute(before, zone)}. </>}
          {after && <>The next one is {absolute(after, zone)}.</>}
        </p>
      )}
      {told.coming && told.coming.reasons.length > 0 && (
        <p className="flex flex-wrap gap-1">
          {told.coming.reasons.map((reason) => (
            <Badge key={reason} tone="warn">
              {reason}
            </Badge>
          ))}
        </p>
      )}
      {told.executions.length > 0 && (
        <ol className="space-y-1">
          {told.executions.map((it) => (
            <li key={it.id} className="flex flex-wrap items-center gap-2">
              <Link
                to="/executions/$id"
                params={{ id: it.id }}
                className="text-accent underline underline-offset-2"
              >
                Attempt {it.attempt}
              </Link>
              <Status status={it.status} />
              <span className="wrap-anywhere min-w-0 text-soft">{it.reason ?? it.error}</span>
            </li>
          ))}
        </ol>
      )}
      {told.audit.length > 0 && (
        <ol className="-mx-4 divide-y border-t" aria-label="What was decided">
          {told.audit.map((event) => (
            <AuditLine key={event.audit_id} event={event} short />
          ))}
        </ol>
      )}
    </div>
  );
}
