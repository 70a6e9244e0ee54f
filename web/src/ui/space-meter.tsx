import './parts.css'

/** Percent. */
const nearlyFull = 90

/** A bar that shows how much of a limit is used. `text` says the same in words. */
export function SpaceMeter({ label, text, used, limit }: { label: string; text: string; used: number; limit: number }) {
  const percent = limit === 0 ? 100 : Math.min(100, (used / limit) * 100)
  return (
    // biome-ignore lint/a11y/useSemanticElements: a native meter cannot be styled in all browsers
    <div
      role="meter"
      className="space-meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(percent)}
      aria-valuetext={text}
    >
      <div className="space-track">
        <div className={`space-fill ${percent >= nearlyFull ? 'nearly-full' : ''}`} style={{ width: `${percent}%` }} />
      </div>
      <span className="help">{text}</span>
    </div>
  )
}
