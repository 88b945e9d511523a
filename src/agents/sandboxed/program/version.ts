import packageJson from '../../../../package.json' with { type: 'json' };

/** A host and the program in its sandboxes must have the same version. */
export const agentVersion: string = packageJson.version;
