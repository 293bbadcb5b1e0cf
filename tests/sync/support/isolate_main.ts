/** Entry point of the test's workers. */
import { workerScope } from "./worker_scope.ts";
import { attach, runAction } from "./actions.ts";

const { handles, action, parameters } = await new Promise<
  { handles: Parameters<typeof attach>[0]; action: string; parameters: unknown[] }
>((resolve) => {
  workerScope.onmessage = (event: MessageEvent) => resolve(event.data);
});
const context = attach(handles);
const result = await runAction(context, action, parameters);
context.registry.leave(context.self);
workerScope.postMessage(result);
workerScope.close();
