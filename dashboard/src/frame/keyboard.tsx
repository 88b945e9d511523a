/** Keys that work on every page. Single letters only outside of fields, and not where a person switched them off. */
import { useEffect, useState } from 'react';
import { goTo, routeOf } from '../route.ts';
import { text } from '../text.ts';
import { Modal } from '../ui/modal.tsx';
import { places } from './places.ts';
import { toggleSidebar } from './sidebar-state.ts';
import { setSingleKeys, singleKeysAllowed } from './single-keys.ts';

const openName = 'geode-keys';
const sequenceMs = 1500;

export function openKeys(): void {
  dispatchEvent(new Event(openName));
}

export function Keyboard() {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    let afterG = 0;
    const show = () => setOpen(true);
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing) return;
      if (event.key === 'F6' && !event.ctrlKey) return nextRegion(event);
      if (event.key === 'F8') return focusOldestQuestion(event);
      if (isInTerminal(event.target)) return;
      if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) {
        if (event.key === 'b') toggleSidebar();
        else if (event.key === 'j') togglePart();
        else return;
        return event.preventDefault();
      }
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (isTyping(event.target) || !singleKeysAllowed() || document.querySelector('[role="dialog"]')) return;
      const isSecond = Date.now() - afterG < sequenceMs;
      afterG = event.key === 'g' ? Date.now() : 0;
      const place = isSecond ? places.find(({ key }) => key === event.key) : undefined;
      if (place !== undefined) location.hash = place.path;
      else if (event.key === '?') setOpen(true);
      else if (event.key === 'c') goTo('chat');
      else if (event.key === 'j' || event.key === 'k') moveInList(event.key === 'j' ? 1 : -1);
      else return;
      event.preventDefault();
    };
    addEventListener(openName, show);
    addEventListener('keydown', press);
    return () => {
      removeEventListener(openName, show);
      removeEventListener('keydown', press);
    };
  }, []);
  return isOpen ? <KeyList onClose={() => setOpen(false)} /> : null;
}

function KeyList({ onClose }: { readonly onClose: () => void }) {
  const [isSingle, setSingle] = useState(singleKeysAllowed);
  return (
    <Modal title={text.keys.title} onClose={onClose}>
      <div className="grid gap-4 md:grid-cols-2">
        {text.keys.groups.map(({ name, keys }) => (
          <section key={name}>
            <h3 className="mb-1 text-sm font-medium text-faint">{name}</h3>
            <dl className="flex flex-col gap-1">
              {keys.map(([key, meaning]) => (
                <div key={key} className="flex items-baseline justify-between gap-3">
                  <dt>
                    <kbd className="key">{key}</kbd>
                  </dt>
                  <dd className="text-right text-muted">{meaning}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <label className="mt-4 flex items-center gap-2">
        <input
          type="checkbox"
          checked={isSingle}
          onChange={() => {
            setSingleKeys(!isSingle);
            setSingle(!isSingle);
          }}
        />
        {text.keys.single}
      </label>
    </Modal>
  );
}

/** There, every key belongs to the program. */
function isInTerminal(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('.xterm') !== null;
}

/** Shows or hides the part beside a chat. */
function togglePart(): void {
  const [place, chat, part] = routeOf(location.hash.slice(1));
  if (place !== 'chat' || chat === undefined) return;
  goTo('chat', chat, ...(part === undefined || part === 'at' ? ['files'] : []));
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]') !== null
  );
}

/** The next or previous link of the list that has the focus, or the first one of the page. */
function moveInList(step: 1 | -1): void {
  const focused = document.activeElement;
  const list =
    focused?.closest('ul, ol, nav, table') ?? document.querySelector('#main ul, #main table, aside ul');
  const links: (HTMLElement | null)[] = [...(list?.querySelectorAll<HTMLElement>('a[href], button') ?? [])];
  const at = links.findIndex((link) => link?.isSameNode(focused));
  links[at === -1 ? 0 : at + step]?.focus();
}

const regions = 'aside, #main, [data-region]';

function nextRegion(event: KeyboardEvent): void {
  event.preventDefault();
  const all = [...document.querySelectorAll<HTMLElement>(regions)].filter(
    (each) => each.offsetParent !== null,
  );
  const at = all.findLastIndex((each) => each.contains(document.activeElement));
  const next = all[(at + (event.shiftKey ? all.length - 1 : 1)) % all.length];
  const target = next?.querySelector<HTMLElement>('a[href], button, textarea, input, [tabindex]') ?? next;
  target?.focus();
}

function focusOldestQuestion(event: KeyboardEvent): void {
  event.preventDefault();
  const card = document.querySelector<HTMLElement>('[data-approval]');
  if (card === null) goTo('inbox');
  else card.focus();
}
