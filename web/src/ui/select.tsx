import type { ReactNode } from 'react'
import { Select as AriaSelect, Button, Label, ListBox, ListBoxItem, Popover, SelectValue } from 'react-aria-components'
import { FieldNote } from './field.tsx'
import './choices.css'

export function Select<Value extends string>({
  label,
  description,
  options,
  value,
  onChange,
}: {
  label: string
  description?: ReactNode
  options: readonly { value: Value; title: string }[]
  value: Value | null
  onChange: (value: Value) => void
}) {
  return (
    <AriaSelect
      className="field"
      value={value}
      onChange={picked => picked !== null && onChange(String(picked) as Value)}
    >
      <Label>{label}</Label>
      <Button className="select-button">
        <SelectValue />
        <span aria-hidden="true">▾</span>
      </Button>
      {description && <FieldNote description={description} />}
      <Popover className="popover select-popover">
        <ListBox>
          {options.map(option => (
            <ListBoxItem key={option.value} id={option.value} textValue={option.title}>
              {option.title}
            </ListBoxItem>
          ))}
        </ListBox>
      </Popover>
    </AriaSelect>
  )
}
