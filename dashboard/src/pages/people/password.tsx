/** One's own password. */
import { type FormEvent, useState } from "react";
import { api, done } from "@/api/client";
import { fieldsOf, inWords } from "@/api/problem";
import { keep } from "@/api/session";
import { Button } from "@/ui/button";
import { Field, Input } from "@/ui/field";
import { Panel } from "@/ui/panel";
import { Refusal } from "@/ui/states";
import { say } from "@/ui/toast";

export function Password() {
  const [error, setError] = useState<unknown>();
  const fields = fieldsOf(error);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const element = event.currentTarget;
    const form = new FormData(element);
    const [current_password, new_password] = [String(form.get("current")), String(form.get("new"))];
    try {
      keep(await done(api.POST("/auth/password", { body: { current_password, new_password } })));
      element.reset();
      setError(undefined);
      say("Your password is changed; your other sessions have ended");
    } catch (problem) {
      setError(problem);
    }
  };
  return (
    <Panel title="Your password">
      <form onSubmit={submit} className="max-w-md space-y-4 p-4">
        <Field label="Current password" error={fields.current_password}>
          <Input name="current" type="password" required autoComplete="current-password" />
        </Field>
        <Field label="New password" hint="8 characters or more." error={fields.new_password}>
          <Input name="new" type="password" required autoComplete="new-password" />
        </Field>
        {error !== undefined && Object.keys(fields).length === 0 && <Refusal>{inWords(error)}</Refusal>}
        <Button type="submit">Change password</Button>
      </form>
    </Panel>
  );
}
