/** Which jobs are shown; all of it is in the address, so that it can be sent to somebody. */
import { useQuery } from "@tanstack/react-query";
import { Search, X } from "lucide-react";
import { useEffect, useState } from "react";
import type { JobFigures } from "@/api/client";
import { figures, type JobFilter, users } from "@/api/queries";
import { classes } from "@/lib/classes";
import { fromLocalField, toLocalField } from "@/lib/time";
import { number } from "@/lib/words";
import { useMay } from "@/parts/may";
import { Button } from "@/ui/button";

/** How long somebody stops writing before they are taken to have written. */
const STILL_MS = 250;

interface Props {
  filter: JobFilter;
  onChange: (filter: JobFilter) => void;
}

interface View {
  name: string;
  status?: string;
  count?: (counts: JobFigures["jobs"]) => number;
}

const VIEWS: View[] = [
  { name: "All", count: (it) => it.total },
  { name: "Pending", status: "PENDING", count: (it) => it.pending },
  { name: "Running", status: "RUNNING", count: (it) => it.running },
  { name: "Retrying", status: "RETRY_PENDING", count: (it) => it.retry_pending },
  { name: "Succeeded", status: "SUCCESS", count: (it) => it.success },
  { name: "Failed", status: "FAILED", count: (it) => it.failed },
  { name: "Paused", status: "paused", count: (it) => it.paused },
  { name: "Off", status: "DISABLED", count: (it) => it.disabled },
];

export function Filters({ filter, onChange }: Props) {
  const may = useMay();
  const { data } = useQuery({ ...figures, enabled: may.oversee });
  const people = useQuery({ ...users, enabled: may.admin });
  const [more, setMore] = useState(false);
  const isNarrow = filter.name || filter.tag || filter.recurring !== undefined || filter.owner;
  const hasTimes = filter.next_run_after || filter.next_run_before;
  return (
    <div className="mb-4 space-y-3">
      <nav aria-label="Status" className="-mx-4 flex gap-1 overflow-x-auto border-b px-4 sm:mx-0 sm:px-0">
        {VIEWS.map((view) => {
          const on = filter.status === view.status;
          const count = data && view.count?.(data.jobs);
          return (
            <button
              key={view.name}
              type="button"
              aria-pressed={on}
              onClick={() => onChange({ ...filter, status: view.status })}
              className={classes(
                "-mb-px flex items-center gap-1.5 whitespace-nowrap border-b-2 px-2.5 py-2 text-sm",
                on ? "border-accent font-medium text-ink" : "border-transparent text-soft hover:text-ink",
              )}
            >
              {view.name}
              {count !== undefined && (
                <span className="tabular text-faint text-xs">{number.format(count)}</span>
              )}
            </button>
          );
        })}
      </nav>
      <div className="flex flex-wrap items-center gap-2">
        <Written
          label="Name begins with"
          value={filter.name}
          onChange={(name) => onChange({ ...filter, name })}
          wide
        />
        <Button size="small" className="sm:hidden" aria-expanded={more} onClick={() => setMore(!more)}>
          {more ? "Fewer filters" : "More filters"}
        </Button>
        <div className={more ? "contents" : "hidden sm:contents"}>
          <Written label="Tag" value={filter.tag} onChange={(tag) => onChange({ ...filter, tag })} />
          {people.data && (
            <select
              aria-label="Owner"
              className="input w-auto"
              value={filter.owner ?? ""}
              onChange={({ target }) => onChange({ ...filter, owner: target.value || undefined })}
            >
              <option value="">Of everybody</option>
              {people.data.items.map((user) => (
                <option key={user.id} value={user.id}>
                  of {user.username}
                </option>
              ))}
            </select>
          )}
          <select
            aria-label="Kind of schedule"
            className="input w-auto"
            value={String(filter.recurring ?? "")}
            onChange={({ target }) =>
              onChange({ ...filter, recurring: target.value === "" ? undefined : target.value === "true" })
            }
          >
            <option value="">Any schedule</option>
            <option value="true">Recurring</option>
            <option value="false">One-time</option>
          </select>
          <span className="flex max-w-full flex-wrap items-center gap-2">
            <Instant
              label="Next run from"
              value={filter.next_run_after}
              onChange={(next_run_after) => onChange({ ...filter, next_run_after })}
            />
            <Instant
              label="Next run before"
              value={filter.next_run_before}
              onChange={(next_run_before) => onChange({ ...filter, next_run_before })}
            />
          </span>
        </div>
        {(isNarrow || hasTimes) && (
          <Button kind="quiet" size="small" onClick={() => onChange({ status: filter.status })}>
            <X /> Clear
          </Button>
        )}
      </div>
    </div>
  );
}

interface FieldProps {
  label: string;
  value: string | undefined;
  onChange: (value: string | undefined) => void;
  wide?: boolean;
}

function Written({ label, value, onChange, wide }: FieldProps) {
  const [text, setText] = useState(value ?? "");
  useEffect(() => setText(value ?? ""), [value]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only what is written counts
  useEffect(() => {
    if (text === (value ?? "")) return;
    const timer = setTimeout(() => onChange(text || undefined), STILL_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <div className={classes("relative", wide ? "w-full sm:w-64" : "w-32")}>
      {wide && <Search className="absolute top-2 left-2.5 size-4 text-faint" aria-hidden />}
      <input
        type="search"
        aria-label={label}
        placeholder={wide ? `${label}…  /` : label}
        {...(wide ? { "data-search": "" } : {})}
        value={text}
        onChange={({ target }) => setText(target.value)}
        className={classes("input", wide && "pl-8")}
      />
    </div>
  );
}

function Instant({ label, value, onChange }: FieldProps) {
  return (
    <label className="flex max-w-full flex-wrap items-center gap-1.5 text-faint text-xs">
      {label}
      <input
        type="datetime-local"
        className="input w-44"
        value={value ? toLocalField(value).slice(0, 16) : ""}
        onChange={({ target }) => onChange(target.value ? fromLocalField(target.value) : undefined)}
      />
    </label>
  );
}
