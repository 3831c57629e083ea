/** Users and keys: who gets in, and what programs get in with. */
import { useMay } from "@/parts/may";
import { PageHead, Panel } from "@/ui/panel";
import { Empty } from "@/ui/states";
import { Keys } from "./people/keys";
import { Password } from "./people/password";
import { Users } from "./people/users";

export function People() {
  const may = useMay();
  return (
    <>
      <PageHead title={may.admin ? "Users and keys" : "Keys and password"} />
      <div className="space-y-5">
        {may.admin && <Users />}
        {may.account ? (
          <>
            <Keys />
            <Password />
          </>
        ) : (
          <Panel title="API keys">
            <Empty title="Keys belong to users">Make the first user, and log in, to have some.</Empty>
          </Panel>
        )}
      </div>
    </>
  );
}
