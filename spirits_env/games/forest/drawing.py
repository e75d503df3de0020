def draw_text(state, seat):
    return ""


def draw_scene(state, seat):
    return ""
