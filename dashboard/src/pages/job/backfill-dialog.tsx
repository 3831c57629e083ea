/** Asking for a backfill: which slots, how fast, and what that comes to before it begins. */
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { type BackfillPreview, begin, type NewBackfill, tryOut } from "@/api/backfills";
import type { Job } from "@/api/client";
import { fieldsOf, inWords } from "@/api/problem";
import { brief, fromLocalField, here, toLocalField } from "@/lib/time";
import { plural, zoneOf } from "@/lib/words";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Field, Input, Select } from "@/ui/field";
import { Refusal } from "@/ui/states";
import { say } from "@/ui/toast";

const DAY_MS = 86_400_000;
/** Slots of a preview that are shown one by one. */
const SHOWN = 6;

export function BackfillDialog({ job, onClose }: { job: Job; onClose: () => void }) {
  const client = useQueryClient();
  const [from, setFrom] = useState(() => toLocalField(new Date(Date.now() - DAY_MS).toISOString()));
  const [to, setTo] = useState("");
  const [order, setOrder] = useState("oldest_first");
  const [cap, setCap] = useState("1000");
  const [atOnce, setAtOnce] = useState("1");
  const [perMinute, setPerMinute] = useState("");
  const [force, setForce] = useState(false);
  const [preview, setPreview] = useState<BackfillPreview>();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const fields = fieldsOf(error);
  const body = (): NewBackfill => ({
    from: fromLocalField(from) ?? "",
    ...(to && { to: fromLocalField(to) }),
    order: order as NewBackfill["order"],
    cap: Number(cap),
    rate: {
      ...(atOnce && { at_once: Number(atOnce) }),
      ...(perMinute && { per_minute: Number(perMinute) }),
    },
    force,
  });
  const doing = async (work: () => Promise<void>) => {
    setBusy(true);
    setError(undefined);
    try {
      await work();
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  const look = (event: FormEvent) => {
    event.preventDefault();
    void doing(async () => setPreview(await tryOut(job.id, body())));
  };
  const go = () =>
    doing(async () => {
      const made = await begin(job.id, body());
      await client.invalidateQueries({ queryKey: ["backfills", job.id] });
      say(`Running ${plural(made.total, "past slot")} of ${job.name}`);
      onClose();
    });
  /** What was tried out is no longer what is asked for. */
  const change =
    (set: (value: string) => void) =>
    ({ target }: { target: { value: string } }) => {
      setPreview(undefined);
      set(target.value);
    };
  return (
    <Dialog open onClose={onClose} title={`Run past slots of ${job.name}`} wide>
      <form onSubmit={look} className="space-y-4">
        <div className="grid gap-4 sm:grid-cols-2">
          <Field label="From" hint={`In ${here}.`} error={fields.from}>
            <Input type="datetime-local" step={1} required value={from} onChange={change(setFrom)} />
          </Field>
          <Field label="Before" hint="Left empty, up to now." error={fields.to}>
            <Input type="datetime-local" step={1} value={to} onChange={change(setTo)} />
          </Field>
          <Field label="Order" error={fields.order}>
            <Select value={order} onChange={change(setOrder)}>
              <option value="oldest_first">the oldest first</option>
              <option value="newest_first">the newest first</option>
            </Select>
          </Field>
          <Field label="At most so many slots" error={fields.cap}>
            <Input type="number" min={1} max={100_000} value={cap} onChange={change(setCap)} />
          </Field>
          <Field label="At once" error={fields["rate.at_once"]}>
            <Input type="number" min={1} max={100} value={atOnce} onChange={change(setAtOnce)} />
          </Field>
          <Field
            label="A minute at most"
            hint="Left empty, as fast as they end."
            error={fields["rate.per_minute"]}
          >
            <Input type="number" min={1} max={6000} value={perMinute} onChange={change(setPerMinute)} />
          </Field>
        </div>
        <label className="flex items-center gap-2 text-sm">
          <input
            type="checkbox"
            className="accent-(--ink)"
            checked={force}
            onChange={({ target }) => {
              setPreview(undefined);
              setForce(target.checked);
            }}
          />
          Also slots that have run already
        </label>
        {preview && <Preview preview={preview} zone={zoneOf(job.schedule)} />}
        {error !== undefined && Object.keys(fields).length === 0 && <Refusal>{inWords(error)}</Refusal>}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Leave it</Button>
          <Button type="submit" disabled={busy}>
            Show what would run
          </Button>
          <Button kind="primary" disabled={busy || !preview || preview.total === 0} onClick={go}>
            Run them
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function Preview({ preview, zone }: { preview: BackfillPreview; zone: string | undefined }) {
  const count = (action: string) => preview.slots.filter((slot) => slot.action === action).length;
  const rest = preview.total - Math.min(preview.slots.length, SHOWN);
  return (
    <div className="rounded-md bg-sunken p-3 text-sm" data-testid="backfill-preview" aria-live="polite">
      <p className="font-medium">
        {preview.total === 0
          ? "No slot is in that time."
          : `${plural(preview.total, "slot")}: ${count("run")} run, ${count("redo")} run again, ${count("skip")} left as they are.`}
      </p>
      {preview.beyond_cap && <p className="text-warn">There are more; only so many are gone through.</p>}
      <ul className="mt-2 space-y-0.5 text-xs">
        {preview.slots.slice(0, SHOWN).map((slot) => (
          <li key={slot.scheduled_for} className="flex flex-wrap gap-x-2">
            <span className="tabular">{brief(slot.scheduled_for, zone)}</span>
            <span className={slot.action === "skip" ? "text-faint" : "text-good"}>{slot.action}</span>
            <span className="text-soft">{slot.reason}</span>
          </li>
        ))}
        {rest > 0 && <li className="text-faint">and {rest} more</li>}
      </ul>
    </div>
  );
}
