import { freePort } from './free-port.ts';
import { send } from './http.ts';
import { runCommand } from './program.ts';
import { until } from './until.ts';

/** The audience of the tokens that a resource server of examples/ accepts. */
export const AUDIENCE = 'https://api.example.com';

/** The settings of the service with which examples/README.md begins. */
export const EXAMPLE_PROFILE = { SERVICE_PROFILE: 'standard', TOKEN_PROFILE: 'rfc9068', TOKEN_AUDIENCE: AUDIENCE };

/** Starts a resource server of examples/, and waits until it answers. */
export async function startExampleServer(
  command: readonly [program: string, ...args: string[]],
  folder: string,
  issuer: string,
): Promise<AsyncDisposable & { readonly url: string }> {
  const port = String(await freePort());
  const url = `http://127.0.0.1:${port}`;
  const program = runCommand(command, folder, { ISSUER: issuer, AUDIENCE, PORT: port });
  const hasEnded = () => program.process.exitCode !== null;
  const answers = () =>
    send(url, '/things').then(
      () => true,
      () => false,
    );
  await until(async () => hasEnded() || (await answers()), `${command.join(' ')} answers`, 300_000);
  if (hasEnded()) throw new Error(`${command.join(' ')} has ended: ${program.stderr()}`);
  return { url, [Symbol.asyncDispose]: () => program[Symbol.asyncDispose]() };
}
