import { type Frame, refuse } from '../frame.ts';
import { withoutUnknown } from '../unknowns.ts';

/** Text that comes from elsewhere is run, whatever it says: refused for where it comes from. */
export function checkOrigin(text: string, frame: Frame): void {
  switch (frame.inspection.unknowns.originOf(text)) {
    case 'downloaded':
      refuse(frame, 'download-and-run', 'What was downloaded is run without a look at it.');
      break;
    case 'connection':
    case 'shell':
      refuse(frame, 'reverse-shell', 'A connection gets to say what is run.');
      break;
    case 'disguised':
      // A name with a known part is put together, as in `"run_$name"`, rather than hidden.
      if (withoutUnknown(text).trim() !== '') break;
      refuse(frame, 'hidden-command', 'A command is hidden by a filter and run without a look at it.');
      break;
    case 'decoded':
      refuse(frame, 'hidden-command', 'A command is hidden by an encoding and run without a look at it.');
      break;
    case 'too-many':
      refuse(frame, 'too-complex', 'What is run may be any of too many values.');
      break;
    default:
  }
}
