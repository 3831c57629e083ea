/** Pausing a job, with a note for whoever wonders and a time at which it goes on by itself. */
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import type { Job } from "@/api/client";
import { fieldsOf, inWords } from "@/api/problem";
import { pause } from "@/api/verbs";
import { fromLocalField, here } from "@/lib/time";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Field, Input } from "@/ui/field";
import { Refusal } from "@/ui/states";
import { say } from "@/ui/toast";

export function PauseDialog({ job, open, onClose }: { job: Job; open: boolean; onClose: () => void }) {
  const client = useQueryClient();
  const [error, setError] = useState<unknown>();
  const fields = fieldsOf(error);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const until = String(form.get("until"));
    try {
      await pause(job.id, String(form.get("note")) || undefined, until ? fromLocalField(until) : undefined);
      await client.invalidateQueries();
      say(`Paused: ${job.name}`);
      setError(undefined);
      onClose();
    } catch (problem) {
      setError(problem);
    }
  };
  return (
    <Dialog open={open} onClose={onClose} title={`Pause ${job.name}`}>
      <form onSubmit={submit} className="space-y-4">
        <p className="text-sm text-soft">
          It fires no more until it is resumed. A run that goes on is left alone.
        </p>
        <Field label="Note" hint="Told beside every slot that is skipped meanwhile." error={fields.note}>
          <Input name="note" maxLength={500} placeholder="Why is it paused?" />
        </Field>
        <Field
          label="Resume by itself at"
          hint={`In ${here}; left empty, somebody has to.`}
          error={fields.resume_at}
        >
          <Input name="until" type="datetime-local" step={1} />
        </Field>
        {error !== undefined && Object.keys(fields).length === 0 && <Refusal>{inWords(error)}</Refusal>}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Leave it</Button>
          <Button type="submit" kind="primary">
            Pause
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
