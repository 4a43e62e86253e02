# SPDX-License-Identifier: Apache-2.0
"""A game loop as every tutorial has it; it ends when its window is closed."""

# needs: pygame
# env: SDL_VIDEO_WINDOW_POS=100,50
# expect: 110,340=#006400 150,60=#87ceeb
# note: the event loop was ended after the screenshot
import pygame

pygame.init()
screen = pygame.display.set_mode((400, 300))
clock = pygame.time.Clock()
x, speed, running, frames = 20, 4, True, 0
while running:
    for event in pygame.event.get():
        if event.type == pygame.QUIT:
            running = False
    x += speed
    if x < 20 or x > 380:
        speed = -speed
    screen.fill("#87ceeb")
    pygame.draw.rect(screen, "#006400", (0, 250, 400, 50))
    pygame.draw.circle(screen, "#ff4500", (x, 200), 20)
    pygame.display.flip()
    clock.tick(60)
    frames += 1
pygame.quit()
print("closed after", frames > 0 and "some frames")
