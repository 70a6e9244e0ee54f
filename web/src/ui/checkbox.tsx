import type { ReactNode } from 'react'
import {
  Checkbox as AriaCheckbox,
  Switch as AriaSwitch,
  type CheckboxProps,
  type SwitchProps,
} from 'react-aria-components'
import './native-controls.css'
import './parts.css'

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
