/** All scenarios by the name of their structure. */
import { arenaScenario } from "./arena.ts";
import { boardScenario } from "./board.ts";
import { budgetScenario } from "./budget.ts";
import { isolatesScenario } from "./isolates.ts";
import { labelsScenario } from "./labels.ts";
import { mutexScenario, sharedExclusiveScenario } from "./locks.ts";
import { tableScenario } from "./table.ts";
import type { Scenario } from "./scenario.ts";

export const SCENARIOS: Record<string, Scenario<never>> = {
  FutexMutex: mutexScenario,
  SharedExclusiveLock: sharedExclusiveScenario,
  CompileBudget: budgetScenario,
  JobBoard: boardScenario,
  KeyedTable: tableScenario,
  Arena: arenaScenario,
  IsolateRegistry: isolatesScenario,
  LabelWatch: labelsScenario,
} as unknown as Record<string, Scenario<never>>;
