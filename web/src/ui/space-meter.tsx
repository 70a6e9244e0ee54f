import { Label, Meter } from 'react-aria-components'
import './parts.css'

/** Percent. */
const nearlyFull = 90

/** A bar that shows how much of a limit is used. `text` says the same in words. */
export function SpaceMeter({ label, text, used, limit }: { label: string; text: string; used: number; limit: number }) {
  const percent = limit === 0 ? 100 : Math.min(100, (used / limit) * 100)
  return (
    <Meter value={percent} valueLabel={text} className="space-meter">
      <Label className="visually-hidden">{label}</Label>
      <div className="space-track">
        <div className={`space-fill ${percent >= nearlyFull ? 'nearly-full' : ''}`} style={{ width: `${percent}%` }} />
      </div>
      <span className="help">{text}</span>
    </Meter>
  )
}
