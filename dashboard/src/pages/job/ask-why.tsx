/** What happened at a time of a job, or will: a time is asked about, and the scheduler explains. */
import { type FormEvent, useState } from "react";
import type { Job } from "@/api/client";
import { fromLocalField, here, toLocalField } from "@/lib/time";
import { zoneOf } from "@/lib/words";
import { Why } from "@/parts/why";
import { Button } from "@/ui/button";
import { Panel } from "@/ui/panel";

export function AskWhy({ job }: { job: Job }) {
  const [field, setField] = useState(() => toLocalField(job.next_execution_time ?? new Date().toISOString()));
  const [at, setAt] = useState<string>();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setAt(fromLocalField(field));
  };
  return (
    <Panel title="Why?" aside={`any slot, past or to come, in ${here}`}>
      <form onSubmit={submit} className="flex flex-wrap items-center gap-2 p-4">
        <input
          type="datetime-local"
          step={1}
          required
          aria-label="Slot to explain"
          className="input w-56"
          value={field}
          onChange={({ target }) => setField(target.value)}
        />
        <Button type="submit">Explain</Button>
      </form>
      {at && (
        <div className="border-t p-4">
          <Why job={job.id} at={at} zone={zoneOf(job.schedule)} />
        </div>
      )}
    </Panel>
  );
}
