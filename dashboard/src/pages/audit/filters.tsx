/** Which audit events are shown; all of it is in the address. */
import { useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import { users } from "@/api/queries";
import { fromLocalField, toLocalField } from "@/lib/time";
import { JobLink } from "@/parts/job-link";
import { useMay } from "@/parts/may";
import type { AuditFilter } from "@/router";
import { Button } from "@/ui/button";

const KINDS: [string, string[]][] = [
  ["schedule", ["fired", "skipped", "missed", "created", "updated", "paused", "resumed", "cancelled"]],
  ["execution", ["succeeded", "failed", "timed_out", "stuck", "cancelled", "skipped", "redriven"]],
  ["backfill", ["created", "paused", "resumed", "cancelled", "finished"]],
  ["notice", ["queued", "sent", "failed"]],
  ["policy", ["created", "updated", "deleted"]],
  ["node", ["reconciled"]],
];
const ACCOUNTS: [string, string[]] = ["auth", ["logged_in", "login_refused", "user_created"]];

interface Props {
  filter: AuditFilter;
  onChange: (filter: AuditFilter) => void;
}

export function AuditFilters({ filter, onChange }: Props) {
  const may = useMay();
  const people = useQuery({ ...users, enabled: may.admin });
  const set = (change: AuditFilter) => {
    const next = { ...filter, ...change };
    onChange(Object.fromEntries(Object.entries(next).filter(([, value]) => value)) as AuditFilter);
  };
  const groups = may.admin ? [...KINDS, ACCOUNTS] : KINDS;
  return (
    <div className="mb-4 flex flex-wrap items-center gap-2">
      <select
        aria-label="Kind"
        className="input w-auto"
        data-search=""
        value={filter.kind ?? ""}
        onChange={({ target }) => set({ kind: target.value })}
      >
        <option value="">Everything</option>
        {groups.map(([group, types]) => (
          <optgroup key={group} label={group}>
            <option value={group}>{group}: all</option>
            {types.map((type) => (
              <option key={type} value={`${group}.${type}`}>
                {group}.{type}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
      {people.data && (
        <select
          aria-label="Done by"
          className="input w-auto"
          value={filter.actor ?? ""}
          onChange={({ target }) => set({ actor: target.value })}
        >
          <option value="">By anybody</option>
          {people.data.items.map((user) => (
            <option key={user.id} value={user.id}>
              by {user.username}
            </option>
          ))}
        </select>
      )}
      {(["since", "until"] as const).map((side) => (
        <label key={side} className="flex max-w-full flex-wrap items-center gap-1.5 text-faint text-xs">
          {side === "since" ? "From" : "Until"}
          <input
            type="datetime-local"
            className="input w-44"
            value={filter[side] ? toLocalField(filter[side]).slice(0, 16) : ""}
            onChange={({ target }) => set({ [side]: target.value ? fromLocalField(target.value) : "" })}
          />
        </label>
      ))}
      {filter.job && (
        <span className="inline-flex max-w-full items-center gap-1.5 text-sm">
          of <JobLink id={filter.job} />
        </span>
      )}
      {filter.trace_id && <code className="font-mono text-2xs text-soft">trace {filter.trace_id}</code>}
      {Object.keys(filter).length > 0 && (
        <Button kind="quiet" size="small" onClick={() => onChange({})}>
          <X /> Clear
        </Button>
      )}
    </div>
  );
}
