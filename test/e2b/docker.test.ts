import { e2bSdk } from '../contracts/e2b-sdk.ts';

// The image has Python and no Node, and no link from /home/user to the workspace.
e2bSdk('docker', { javascript: false, home: false });
