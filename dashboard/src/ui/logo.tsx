export function Logo() {
  return (
    <svg aria-hidden viewBox="0 0 20 20" className="size-5 shrink-0">
      <path
        d="M10 1.5 17.4 5.75v8.5L10 18.5l-7.4-4.25v-8.5z"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.75"
      />
      <path d="m10 6.5 3 1.75v3.5l-3 1.75-3-1.75v-3.5z" className="fill-accent-text" />
    </svg>
  );
}
