import './thread-pool-size.ts';
import { createProgram, runProgram } from '../adapters/cli/command-program.ts';
import { EXIT } from '../adapters/cli/outcome.ts';
import { Terminal } from '../adapters/cli/terminal.ts';
import { probeHealth } from '../adapters/http-client/health-probe.ts';
import { programVersion } from '../adapters/system/program-version.ts';
import { inWords } from '../domain/problem.ts';
import { readEnvironment } from './settings/read-environment.ts';
import { CORE_GROUPS } from './settings/settings.ts';

const DESCRIPTION =
  'Asks the management port of the service with the same settings whether it is well, or its public port if MANAGEMENT_PORT is 0. For containers, which have no curl.';

const FIX = 'MANAGEMENT_PORT is 0, so the public port was asked: it needs HEALTH_ON_PUBLIC_PORT=true.';

const NOTES = `
Exit codes: 0 if the response is 200; 1 for another one, or none.`;

const terminal = new Terminal(process);
const page = { name: 'npm run health --', version: programVersion(), description: DESCRIPTION, notes: NOTES };
const program = createProgram(page, terminal).argument('[path]', '/readyz or /livez', '/readyz');

program.action(async (path: string) => {
  const settings = readEnvironment(CORE_GROUPS.listening, [], process.env);
  if (!settings.ok) return terminal.fail(EXIT.refused, settings.problem.map(inWords));
  const { HOST, PORT, MANAGEMENT_HOST, MANAGEMENT_PORT } = settings.value;
  const [host, port] = MANAGEMENT_PORT === 0 ? [HOST, PORT] : [MANAGEMENT_HOST, MANAGEMENT_PORT];
  const hasTls = MANAGEMENT_PORT === 0 && Boolean(process.env['TLS_CERT_FILE']);
  if (await probeHealth({ host, port, hasTls }, path)) return;
  terminal.fail(EXIT.refused, MANAGEMENT_PORT === 0 ? [FIX] : []);
});

/** `npm run health`, and the health check of the image. */
process.exitCode = await runProgram(program, process.argv.slice(2), terminal);
