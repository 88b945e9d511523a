import { installPackages, whyNoPackages } from './apt.ts';

/** Compilers, plotters and shells of the machine that the runtime suites use. */
const packages = [
  ...['golang-go', 'rustc', 'cargo', 'gcc', 'libc6-dev'],
  ...['python3', 'python3-matplotlib', 'python3-pandas'],
  ...['zsh', 'fish'],
];

/** Call it under the setup lock. Where it fails, the suites find out which tools the machine has all the same. */
export async function installToolchains(): Promise<void> {
  const reason = whyNoPackages();
  if (reason !== null) throw new Error(`compilers and plotting libraries cannot be installed: ${reason}`);
  await installPackages(packages);
}
