import { installPackages, whyNoPackages } from './apt.ts';

/** Programs whose help the test of the docs reads. */
export const programsOfDocs = ['docker-compose', 'debootstrap', 'systemd', 'python3-pip', 'curl', 'git'];

/**
 * Compilers, plotters and shells of the machine that the runtime suites use, and the programs of the docs. All of them
 * are there before the first test: a package may add users and groups, which tests compare.
 */
const packages = [
  ...['golang-go', 'rustc', 'cargo', 'gcc', 'libc6-dev'],
  ...['python3', 'python3-matplotlib', 'python3-pandas'],
  ...['zsh', 'fish'],
  ...programsOfDocs,
];

/** Call it under the setup lock. Where it fails, the suites find out which tools the machine has all the same. */
export async function installToolchains(): Promise<void> {
  const reason = whyNoPackages();
  if (reason !== null) throw new Error(`compilers and plotting libraries cannot be installed: ${reason}`);
  await installPackages(packages);
}
