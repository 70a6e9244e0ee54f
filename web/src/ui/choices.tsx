import { type ReactNode, useId } from 'react'
import { Label, Radio, RadioGroup, Text } from 'react-aria-components'
import './native-controls.css'
import './parts.css'

export interface Choice<Value extends string> {
  value: Value
  title: string
  help?: ReactNode
}

/** Radio buttons, as cards with an explanation each or as short labels in a row. */
export function Choices<Value extends string>({
  label,
  description,
  choices,
  value,
  onChange,
  layout = 'cards',
}: {
  label: string
  description?: ReactNode
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
      {description && (
        <Text slot="description" className="help">
          {description}
        </Text>
      )}
      <div className="choice-list">
        {choices.map(choice => (
          <ChoiceCard key={choice.value} {...choice} />
        ))}
      </div>
    </RadioGroup>
  )
}

function ChoiceCard({ value, title, help }: Choice<string>) {
  const helpId = useId()
  return (
    <Radio
      value={value}
      className="choice"
      aria-label={title}
      {...(help !== undefined && { 'aria-describedby': helpId })}
    >
      <span className="choice-title">{title}</span>
      {help !== undefined && (
        <span id={helpId} className="help">
          {help}
        </span>
      )}
    </Radio>
  )
}
