export function Logo() {
  return (
    <svg className="logo" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" />
      <path d="M7 11.5 16 7l9 4.5v9L16 25l-9-4.5zM7 11.5l9 4.5 9-4.5M16 16v9" />
    </svg>
  )
}
