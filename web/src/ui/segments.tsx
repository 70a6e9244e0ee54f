import { useId } from 'react'
import { Icon, type IconName } from './icons.tsx'
import './segments.css'

/** One of a few values, each with an icon, such as the view of a folder. */
export function Segments<Value extends string>({
  label,
  options,
  value,
  onChange,
}: {
  label: string
  options: readonly { value: Value; title: string; icon: IconName }[]
  value: Value
  onChange: (value: Value) => void
}) {
  const name = useId()
  return (
    <div role="radiogroup" aria-label={label} className="segments">
      {options.map(option => (
        <label key={option.value} className="segment" title={option.title}>
          <input
            type="radio"
            name={name}
            aria-label={option.title}
            checked={option.value === value}
            onChange={() => onChange(option.value)}
          />
          <Icon name={option.icon} />
        </label>
      ))}
    </div>
  )
}
