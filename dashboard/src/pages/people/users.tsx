/** Users, for admins. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Ellipsis, Plus } from "lucide-react";
import { type FormEvent, useState } from "react";
import { api, done, type User } from "@/api/client";
import { fieldsOf, inWords } from "@/api/problem";
import { users } from "@/api/queries";
import { Moment } from "@/parts/moment";
import { Button } from "@/ui/button";
import { Confirm, Dialog } from "@/ui/dialog";
import { Field, Input, Select } from "@/ui/field";
import { Divider, Item, Menu } from "@/ui/menu";
import { Panel, Table, Td, Th, Tr } from "@/ui/panel";
import { Empty, Failed, Loading, Refusal } from "@/ui/states";
import { Badge } from "@/ui/status";
import { doing, say } from "@/ui/toast";

const ROLES = [
  ["user", "user: its own jobs"],
  ["viewer", "viewer: sees all, changes nothing"],
  ["admin", "admin: everything"],
] as const;

export function Users() {
  const client = useQueryClient();
  const asked = useQuery(users);
  const [adding, setAdding] = useState(false);
  const [resetting, setResetting] = useState<User>();
  const [removing, setRemoving] = useState<User>();
  const again = () => client.invalidateQueries({ queryKey: users.queryKey });
  const change = async (user: User, body: { role?: string; disabled?: boolean }, said: string) => {
    await doing(done(api.PATCH("/users/{id}", { params: { path: { id: user.id } }, body })), said);
    await again();
  };
  return (
    <Panel
      title="Users"
      aside={
        <Button size="small" onClick={() => setAdding(true)}>
          <Plus /> New user
        </Button>
      }
    >
      {asked.isPending && <Loading rows={3} />}
      {asked.isError && !asked.data && <Failed error={asked.error} retry={() => asked.refetch()} />}
      {asked.data?.items.length === 0 && <Empty title="No users yet">The first one is the admin.</Empty>}
      {asked.data && asked.data.items.length > 0 && (
        <Table label="Users">
          <thead>
            <tr>
              <Th>Name</Th>
              <Th>Role</Th>
              <Th>State</Th>
              <Th className="hidden sm:table-cell">Made</Th>
              <Th>
                <span className="sr-only">Actions</span>
              </Th>
            </tr>
          </thead>
          <tbody>
            {asked.data.items.map((user) => (
              <Tr key={user.id}>
                <Td className="wrap-anywhere font-medium">{user.username}</Td>
                <Td className="py-1">
                  <select
                    aria-label={`Role of ${user.username}`}
                    className="input h-7 w-auto pr-7"
                    value={user.role}
                    onChange={({ target }) =>
                      change(user, { role: target.value }, `${user.username} is now ${target.value}`)
                    }
                  >
                    {ROLES.map(([role]) => (
                      <option key={role}>{role}</option>
                    ))}
                  </select>
                </Td>
                <Td>
                  {user.disabled ? <Badge tone="bad">Shut out</Badge> : <Badge tone="good">May log in</Badge>}
                </Td>
                <Td className="hidden sm:table-cell">
                  <Moment at={user.created_at} />
                </Td>
                <Td className="w-10 py-1">
                  <Menu
                    trigger={
                      <Button kind="quiet" size="icon" aria-label={`Actions for ${user.username}`}>
                        <Ellipsis />
                      </Button>
                    }
                  >
                    <Item onSelect={() => setResetting(user)}>Set password…</Item>
                    <Item
                      onSelect={() =>
                        change(
                          user,
                          { disabled: !user.disabled },
                          user.disabled ? `${user.username} may log in` : `${user.username} is shut out`,
                        )
                      }
                    >
                      {user.disabled ? "Let in again" : "Shut out"}
                    </Item>
                    <Divider />
                    <Item danger onSelect={() => setRemoving(user)}>
                      Delete…
                    </Item>
                  </Menu>
                </Td>
              </Tr>
            ))}
          </tbody>
        </Table>
      )}
      <NewUser open={adding} onClose={() => setAdding(false)} onDone={again} />
      <SetPassword user={resetting} onClose={() => setResetting(undefined)} />
      <Confirm
        open={Boolean(removing)}
        onClose={() => setRemoving(undefined)}
        title={`Delete ${removing?.username ?? ""}`}
        act="Delete"
        danger
        onAct={async () => {
          if (!removing) return;
          await done(api.DELETE("/users/{id}", { params: { path: { id: removing.id } } }));
          await again();
          say(`Deleted: ${removing.username}`);
        }}
      >
        <p>The user and its keys are removed for good. Its jobs stay, and go on.</p>
      </Confirm>
    </Panel>
  );
}

interface NewUserProps {
  open: boolean;
  onClose: () => void;
  onDone: () => Promise<void>;
}

function NewUser({ open, onClose, onDone }: NewUserProps) {
  const [error, setError] = useState<unknown>();
  const fields = fieldsOf(error);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const [username, password, role] = ["username", "password", "role"].map((name) => String(form.get(name)));
    try {
      await done(api.POST("/users", { body: { username: username ?? "", password: password ?? "", role } }));
      await onDone();
      say(`Made: ${username}`);
      setError(undefined);
      onClose();
    } catch (problem) {
      setError(problem);
    }
  };
  return (
    <Dialog open={open} onClose={onClose} title="New user">
      <form onSubmit={submit} className="space-y-4">
        <Field label="Name" error={fields.username}>
          <Input name="username" required autoComplete="off" />
        </Field>
        <Field label="Password" hint="8 characters or more." error={fields.password}>
          <Input name="password" type="password" required autoComplete="new-password" />
        </Field>
        <Field label="Role" error={fields.role}>
          <Select name="role">
            {ROLES.map(([role, told]) => (
              <option key={role} value={role}>
                {told}
              </option>
            ))}
          </Select>
        </Field>
        {error !== undefined && Object.keys(fields).length === 0 && <Refusal>{inWords(error)}</Refusal>}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary">
            Create user
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function SetPassword({ user, onClose }: { user: User | undefined; onClose: () => void }) {
  const [error, setError] = useState<unknown>();
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (!user) return;
    const password = String(new FormData(event.currentTarget).get("password"));
    try {
      await done(api.PATCH("/users/{id}", { params: { path: { id: user.id } }, body: { password } }));
      say(`${user.username} has a new password; its sessions have ended`);
      setError(undefined);
      onClose();
    } catch (problem) {
      setError(problem);
    }
  };
  return (
    <Dialog open={Boolean(user)} onClose={onClose} title={`Password of ${user?.username ?? ""}`}>
      <form onSubmit={submit} className="space-y-4">
        <Field
          label="New password"
          hint="8 characters or more."
          error={error === undefined ? undefined : inWords(error)}
        >
          <Input name="password" type="password" required autoComplete="new-password" />
        </Field>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary">
            Set password
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
