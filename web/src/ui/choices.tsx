import { type ReactNode, useId } from 'react'
import {
  Checkbox as AriaCheckbox,
  Switch as AriaSwitch,
  type CheckboxProps,
  Label,
  Radio,
  RadioGroup,
  type SwitchProps,
} from 'react-aria-components'
import './choices.css'
import './parts.css'

export interface Choice<Value extends string> {
  value: Value
  title: string
  help?: ReactNode
  /** Shown beside the title. */
  image?: ReactNode
}

/** Radio buttons, as cards with an explanation each or as short labels in a row. */
export function Choices<Value extends string>({
  label,
  choices,
  value,
  onChange,
  layout = 'cards',
}: {
  label: string
  choices: readonly Choice<Value>[]
  value: Value | null
  onChange: (value: Value) => void
  layout?: 'cards' | 'row'
}) {
  return (
    <RadioGroup
      className={`choices ${layout}`}
      value={value}
      onChange={picked => onChange(picked as Value)}
      orientation={layout === 'row' ? 'horizontal' : 'vertical'}
    >
      <Label className={layout === 'row' ? 'visually-hidden' : 'label'}>{label}</Label>
      <div className="choice-list">
        {choices.map(choice => (
          <ChoiceCard key={choice.value} {...choice} />
        ))}
      </div>
    </RadioGroup>
  )
}

function ChoiceCard({ value, title, help, image }: Choice<string>) {
  const helpId = useId()
  return (
    <Radio
      value={value}
      className="choice"
      aria-label={title}
      {...(help !== undefined && { 'aria-describedby': helpId })}
    >
      {image && <span className="choice-image">{image}</span>}
      <span className="choice-title">{title}</span>
      {help !== undefined && (
        <span id={helpId} className="help">
          {help}
        </span>
      )}
    </Radio>
  )
}

export function Checkbox({ children, ...props }: CheckboxProps & { children: ReactNode }) {
  return (
    <AriaCheckbox {...props} className="check">
      <span className="check-box" aria-hidden="true" />
      <span>{children}</span>
    </AriaCheckbox>
  )
}

export function Switch({ children, ...props }: SwitchProps & { children: ReactNode }) {
  return (
    <AriaSwitch {...props} className="check">
      <span className="switch-track" aria-hidden="true" />
      <span>{children}</span>
    </AriaSwitch>
  )
}
