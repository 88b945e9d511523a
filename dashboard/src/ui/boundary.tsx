import { Component, type ReactNode } from 'react';
import { text } from '../text.ts';
import { Problem } from './problem.tsx';

interface Props {
  readonly children: ReactNode;
}

/** A part that cannot be drawn, such as one whose file an update of Geode removed, says so and can be loaded again. */
export class Boundary extends Component<Props, { readonly error: unknown }> {
  override state: { readonly error: unknown } = { error: undefined };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    return (
      <div className="flex flex-col items-start gap-3 p-4">
        <h1>{text.problem.broken}</h1>
        <p className="text-muted">{text.problem.brokenHow}</p>
        <Problem error={error} />
        <button type="button" className="button button-main" onClick={() => location.reload()}>
          {text.problem.reload}
        </button>
      </div>
    );
  }
}
