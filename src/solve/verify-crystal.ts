import type { Cancel } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';
import type { Runs } from '../runs/index.ts';
import type { EgressSpec } from '../seams/egress.ts';
import type { Verdict } from '../seams/solve.ts';
import type { Crystal } from './crystal.ts';
import type { Crystals } from './crystals.ts';
import { install } from './install.ts';
import { type Candidate, verify } from './verify.ts';

export interface VerifyCrystalOptions extends Cancel {
  /** Where its packages may be installed from. */
  readonly egress?: EgressSpec | undefined;
}

export interface VerifiedCrystal {
  readonly crystal: Crystal;
  readonly verdict: Verdict;
}

/**
 * Runs a crystal in a fresh sandbox on the check stored with it. The verdict changes its trust. A crystal that only a
 * judge had checked can fail here but not pass: if it runs to the end, its trust stays.
 */
export async function verifyCrystal(
  { runs, crystals, user }: { readonly runs: Runs; readonly crystals: Crystals; readonly user: string },
  key: string,
  { egress, signal }: VerifyCrystalOptions,
): Promise<VerifiedCrystal> {
  const crystal = await crystals.get(key);
  const { solution, language, files, check, dependencies } = crystal;
  const candidate: Candidate = {
    code: solution,
    language,
    files: { ...check.files, ...files },
    tests: check.tests ?? undefined,
    expect: check.expect ?? undefined,
    checks: check.checks,
    packages: await packagesFor(),
  };
  const checking = verify(runs, user, candidate, { signal });
  let step = await checking.next();
  while (!step.done) step = await checking.next();
  const { verdict } = step.value;
  if (verdict.label !== 'unverified')
    await crystals.verified(crystal, verdict.label === 'verified', verdict.reason);
  return { crystal: await crystals.get(key), verdict };

  /** A failed installation says nothing about the crystal: it is an error, and the trust stays. */
  async function packagesFor() {
    if (dependencies.length === 0) return undefined;
    const names = dependencies.join(', ');
    if (egress === undefined)
      throw new GeodeError('invalid_input', `The crystal needs the packages ${names}.`, {
        hint: 'Allow a registry: --allow pypi, or --allow npm.',
      });
    const { packages, installation } = await install(runs, user, language, dependencies, egress, { signal });
    if (packages !== null) return packages;
    throw new GeodeError(
      'invalid_input',
      `The packages ${names} could not be installed: ${installation.output}`,
    );
  }
}
